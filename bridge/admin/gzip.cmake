# SPDX-License-Identifier: Apache-2.0
# gzip.cmake: compresses the file IN to OUT, without a time in it, so that two builds are equal.
# CMake's own archives have one.
execute_process(COMMAND gzip -9nc ${IN} OUTPUT_FILE ${OUT} COMMAND_ERROR_IS_FATAL ANY)
