#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How the code reads, as tests: style.sh format | layers | tidy BUILD_DIR
set -u
cd "$(dirname "$0")/.." || exit 1

# Every C file of the repository that exists: tracked, or new and not ignored.
c_files() {
    { git ls-files --cached --others --exclude-standard '*.c' '*.h' 2>/dev/null ||
        find levels bridge consumer tests -name '*.[ch]'; } |
        while read -r file; do [ -f "$file" ] && echo "$file"; done
}

format() {
    local found
    found=$(c_files | xargs -r clang-format --dry-run -Werror 2>&1 | grep -F ': error:')
    if [ -n "$found" ]; then
        head -n 20 <<<"$found"
        echo "format: $(wc -l <<<"$found") places in these files, cured by ./dev fmt:" \
            $(cut -d: -f1 <<<"$found" | sort -u)
        exit 1
    fi
    echo "format: $(c_files | wc -l) files as .clang-format says"
}

# breaks FILES... -- PATTERN SENTENCE: say which lines include what they must not.
broken=0
forbid() {
    local sentence=$1 pattern=$2
    shift 2
    [ $# -eq 0 ] && return
    if grep -nE "$pattern" /dev/null "$@"; then
        echo "layers: $sentence"
        broken=1
    fi
}

layers() {
    local core core_files=() levels=() pure_tests=()
    for file in levels/*.[ch]; do [ -f "$file" ] && levels+=("$file"); done
    core=$(sed -n '/^set(CORE_SOURCES/,/)/p' CMakeLists.txt | grep -oE 'bridge/[a-z_]+\.c')
    for file in $core; do
        [ -f "$file" ] && core_files+=("$file")
        [ -f "${file%.c}.h" ] && core_files+=("${file%.c}.h")
    done
    for file in tests/sim/*.[ch]; do [ -f "$file" ] && pure_tests+=("$file"); done

    local include='^[[:space:]]*#[[:space:]]*include[[:space:]]*'
    forbid "levels/ and the core know nothing of librdkafka, threads, files or sockets" \
        "$include<(librdkafka/)?(rdkafka.*|pthread|threads|sys/socket|unistd|fcntl|poll|yaml|jansson)\.h>" \
        "${levels[@]}" "${core_files[@]}" "${pure_tests[@]}"
    forbid "levels/ includes levels/ alone" "$include\"(bridge|consumer|tests)/" "${levels[@]}"
    forbid "the core includes levels/ and itself alone" "$include\"(consumer|tests)/" "${core_files[@]}"
    forbid "includes are from the root of the repository" "$include\"([^/\"]*|\.[^\"]*)\"" \
        "${levels[@]}" "${core_files[@]}"
    # A header of bridge/ that the core includes must belong to a file of the core.
    for file in "${core_files[@]}"; do
        for header in $(grep -oE '#include "bridge/[a-z_]+\.h"' "$file" | grep -oE 'bridge/[a-z_]+'); do
            [ -f "$header.c" ] || continue
            if ! grep -qx "$header.c" <<<"$core"; then
                echo "$file: $header.h is not of the core"
                broken=1
            fi
        done
    done
    # The clock is a parameter: nothing pure reads one or takes memory of its own accord.
    forbid "levels/ and the core are told the time" \
        '\b(clock_gettime|gettimeofday|time|nanosleep|usleep|sleep)\(' "${levels[@]}" "${core_files[@]}"
    [ $broken -eq 0 ] || exit 1
    echo "layers: ${#levels[@]} files of levels/ and ${#core_files[@]} of the core lean on nothing above them"
}

tidy() {
    command -v run-clang-tidy-14 >/dev/null || { echo "skipped: no run-clang-tidy-14"; exit 77; }
    local log
    log=$(mktemp)
    run-clang-tidy-14 -quiet -j "$(nproc)" -p "$1" '/(levels|bridge|consumer|tests/sim)/.*\.c$' >"$log" 2>&1
    local status=$?
    sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -vE '^(clang-tidy-14|[0-9]+ warnings? generated|$)'
    rm -f "$log"
    [ $status -eq 0 ] && echo "tidy: nothing found"
    exit $status
}

case ${1:-} in
format) format ;;
layers) layers ;;
tidy) tidy "$2" ;;
*) echo "usage: style.sh format | layers | tidy BUILD_DIR" >&2; exit 64 ;;
esac
