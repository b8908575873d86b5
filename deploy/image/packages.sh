#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh [ARCHITECTURE]: installs the packages of a build, for this architecture or another one of Debian's.
set -eu
own=$(dpkg --print-architecture)
arch=${1:-$own}
compiler=gcc
if [ "$arch" != "$own" ]; then
    dpkg --add-architecture "$arch"
    compiler="crossbuild-essential-$arch qemu-user-static"
fi
apt-get update
# shellcheck disable=SC2086
apt-get install -y --no-install-recommends cmake ninja-build pkg-config dpkg-dev file ca-certificates $compiler \
    "libc6-dev:$arch" "librdkafka-dev:$arch" "libyaml-dev:$arch" "libjansson-dev:$arch" "libxxhash-dev:$arch" \
    "libjemalloc-dev:$arch" "libmicrohttpd-dev:$arch"
