#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# digest_test.sh SIM: the digest repeats, a seed's digest depends on no seed before it, it covers what
# --calls prints, and a planted bug changes it.
set -eu
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "digest: $1"
    exit 1
}

"$sim" --digest --seeds 20 -v >"$work/first"
"$sim" --digest --seeds 20 -v >"$work/second"
cmp "$work/first" "$work/second" || fail "two runs of the same build differ"
[ "$(grep -c ' seeds from 1, ' "$work/first")" -eq 2 ] || fail "there is not one digest for each mode"

"$sim" --digest --seed 17 -v --calls >"$work/calls"
grep ' seed 17, ' "$work/first" >"$work/expected"
grep ' seed 17, ' "$work/calls" | cmp "$work/expected" - || fail "seed 17 alone has another digest"

counted=$(($(sed -n 's/.* seed 17, \([0-9]*\) calls$/\1/p' "$work/expected" | paste -sd+)))
printed=$(grep -cE '^[0-9]+ p[0-9]+#[0-9]+ ' "$work/calls")
[ "$printed" -eq "$counted" ] || fail "$counted calls are counted, and $printed are printed"

# A failed seed leaks its bridge: a sanitizer would report that on stderr.
"$sim" --digest --seeds 20 -v --bug order_swapped >"$work/bug" 2>"$work/errors" || true
for mode in 'at least once' 'exactly once'; do
    [ "$(grep -c "^$mode.* seeds from" "$work/bug")" -eq 1 ] || fail "$mode: no digest with a bug"
    grep "^$mode.* seeds from" "$work/bug" >"$work/line"
    ! grep -qxFf "$work/line" "$work/first" || fail "$mode: a planted bug does not change the digest"
done
echo "digest: repeats, covers all calls, and shows a planted bug"
