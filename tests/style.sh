#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How the code reads, as tests: style.sh format | layers | plurals | tidy BUILD_DIR
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

# forbid SENTENCE PATTERN FILES...: say which lines hold what they must not.
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
    for file in tests/sim/*.[ch]; do [ -f "$file" ] && pure_tests+=("$file"); done
    core=$(ls bridge/core/*.c)
    for file in $core; do [ -f "$file" ] && core_files+=("$file"); done
    # The headers of the core are those that it includes, and those that these include.
    local at=0 header
    while [ $at -lt ${#core_files[@]} ]; do
        for header in $(grep -oE '^ *# *include "bridge/core/[a-z_]+\.h"' "${core_files[at]}" |
            grep -oE 'bridge/core/[a-z_]+\.h'); do
            if [ -f "${header%.h}.c" ] && ! grep -qx "${header%.h}.c" <<<"$core"; then
                echo "${core_files[at]}: $header is not of the core"
                broken=1
            fi
            [[ " ${core_files[*]} " == *" $header "* ]] || core_files+=("$header")
        done
        at=$((at + 1))
    done

    local include='^[[:space:]]*#[[:space:]]*include[[:space:]]*'
    forbid "levels/ and the core know nothing of librdkafka, threads, files or sockets" \
        "$include<(librdkafka/)?(rdkafka.*|pthread|threads|sys/socket|unistd|fcntl|poll|yaml|jansson)\.h>" \
        "${levels[@]}" "${core_files[@]}" "${pure_tests[@]}"
    forbid "levels/ includes levels/ alone" "$include\"(bridge|consumer|tests)/" "${levels[@]}"
    forbid "the core includes levels/ and itself alone" "$include\"(consumer|tests)/" "${core_files[@]}"
    if grep -nE "$include\"(bridge|tests)/" consumer/*.[ch] |
        grep -vE '"bridge/(bridge|clock|config|limit|list|log|memory|stats)\.h"'; then
        echo "layers: consumer/ includes levels/, itself, and of bridge/ what the program shares"
        broken=1
    fi
    forbid "includes are from the root of the repository" "$include\"([^/\"]*|\.[^\"]*)\"" \
        "${levels[@]}" "${core_files[@]}"
    forbid "levels/ and the core are told the time" \
        '\b(clock_gettime|gettimeofday|time|nanosleep|usleep|sleep)\(' "${levels[@]}" "${core_files[@]}"
    [ $broken -eq 0 ] || exit 1
    echo "layers: ${#levels[@]} files of levels/ and ${#core_files[@]} of the core lean on nothing above them"
}

# A number in front of a plural is 1 some day: levels/counted.h writes both.
plurals() {
    local found files number='(%[-0-9.*]*(l|ll|z)?[du]|PRI[a-z]+[0-9]+ *")'
    files=$(find levels consumer bridge -name "*.c")
    found=$(grep -nE "$number [a-z]+( [a-z]+)?s\\b" $files |
        grep -vE "$number (ms|has|is|was|bytes|as)\\b|=%|from %d to %d partitions|are too many")
    if [ -n "$found" ]; then
        echo "$found"
        echo "plurals: use counted() of levels/counted.h"
        exit 1
    fi
    echo "plurals: no number stands in front of a fixed plural"
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
plurals) plurals ;;
tidy) tidy "$2" ;;
*) echo "usage: style.sh format | layers | plurals | tidy BUILD_DIR" >&2; exit 64 ;;
esac
