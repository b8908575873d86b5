# SPDX-License-Identifier: Apache-2.0
# gzip.cmake: compresses the file IN to OUT.
file(ARCHIVE_CREATE OUTPUT ${OUT} PATHS ${IN} FORMAT raw COMPRESSION GZip)
