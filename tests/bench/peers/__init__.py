# SPDX-License-Identifier: Apache-2.0
"""Other programs that hold messages until they are due, one file each, and the bridge with the same interface."""
