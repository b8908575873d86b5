#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks of the code's style: style.sh format | plurals | scripts | tidy BUILD_DIR [quick] | shell
set -u
cd "$(dirname "$0")/.." || exit 1

# Every C file of the repository that exists: tracked, or new and not ignored.
c_files() {
    { git ls-files --cached --others --exclude-standard '*.c' '*.h' 2>/dev/null ||
        find levels bridge consumer tests -name '*.[ch]'; } |
        while read -r file; do [ -f "$file" ] && echo "$file"; done
}

# Versions of clang-format differ in places, so the one of Debian 12 decides.
format() {
    local found
    clang-format --version | grep -q 'version 14\.' || { echo "skipped: no clang-format 14"; exit 77; }
    found=$(c_files | xargs -r clang-format --dry-run -Werror 2>&1 | grep -F ': error:')
    if [ -n "$found" ]; then
        head -n 20 <<<"$found"
        echo "format: $(wc -l <<<"$found") places in these files, fixed by ./dev fmt:" \
            "$(cut -d: -f1 <<<"$found" | sort -u | tr '\n' ' ')"
        exit 1
    fi
    echo "format: $(c_files | wc -l) files follow .clang-format"
}

# A number in a message can be 1, and then a fixed plural is wrong. counted() of levels/counted.h writes both forms.
plurals() {
    local found files number='(%[-0-9.*]*(l|ll|z)?[du]|PRI[a-z]+[0-9]+ *")'
    files=$(find levels consumer bridge -name "*.c")
    found=$(grep -nE "$number [a-z]+( [a-z]+)?s\\b" $files |
        grep -vE "$number (ms|has|is|was|bytes|as)\\b|=%|from %d to %d partitions|1 to %d |are too many")
    if [ -n "$found" ]; then
        echo "$found"
        echo "plurals: use counted() of levels/counted.h"
        exit 1
    fi
    echo "plurals: no number before a fixed plural"
}

# The documents run scripts without naming an interpreter.
scripts() {
    local found
    found=$(git ls-files '*.py' '*.sh' 2>/dev/null | while read -r file; do
        [ ! -f "$file" ] || [ -x "$file" ] || [ "$(head -c 2 "$file")" != '#!' ] || echo "$file"
    done)
    if [ -n "$found" ]; then
        echo "$found"
        echo "scripts: these files begin with #! and are not executable: chmod +x"
        exit 1
    fi
    echo "scripts: each file with #! is executable"
}

# quick: the analyzer leaves a function after 10,000 states, not 225,000, and takes a seventh of the time.
tidy() {
    local log limit=()
    [ "${2:-}" != quick ] || for word in -Xclang -analyzer-config -Xclang max-nodes=10000; do
        limit+=("-extra-arg=$word")
    done
    command -v run-clang-tidy-14 >/dev/null || { echo "skipped: no run-clang-tidy-14"; exit 77; }
    log=$(mktemp)
    run-clang-tidy-14 -quiet -j "$(nproc)" -p "$1" ${limit[@]+"${limit[@]}"} '/(levels|bridge|consumer|tests/sim)/.*\.c$' >"$log" 2>&1
    local status=$?
    sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -vE '^(clang-tidy-14|[0-9]+ warnings? generated|$)'
    rm -f "$log"
    [ $status -eq 0 ] && echo "tidy: no findings"
    exit $status
}

# SC1007: "a= b=" on one line sets both to nothing, as intended.
shell() {
    command -v shellcheck >/dev/null || { echo "skipped: no shellcheck"; exit 77; }
    shellcheck -S warning -e SC1007 dev .ci/run tests/style.sh tests/kafka/kafka tests/sim/digest_test.sh deploy/image/*.sh \
        deploy/deb/postinst deploy/deb/prerm deploy/deb/postrm || exit 1
    echo "shell: no findings"
}

case ${1:-} in
format) format ;;
plurals) plurals ;;
scripts) scripts ;;
tidy) tidy "$2" "${3:-}" ;;
shell) shell ;;
*) echo "usage: style.sh format | plurals | scripts | tidy BUILD_DIR [quick] | shell" >&2; exit 64 ;;
esac
