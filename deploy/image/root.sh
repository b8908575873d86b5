#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# root.sh BINARY ROOT: makes ROOT, the whole file system of the image. It has the binary, the libraries that it needs, the
# files that these read, and the licenses. Scanners find the packages in var/lib/dpkg/status.d.
set -eu
binary=$1 root=$2
interpreter=$(readelf -l "$binary" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
case $interpreter in
*x86-64*) arch=amd64 libraries=/usr/lib/x86_64-linux-gnu ;;
*aarch64*) arch=arm64 libraries=/usr/lib/aarch64-linux-gnu ;;
*) echo "root.sh: unknown interpreter $interpreter" >&2; exit 1 ;;
esac

# copy FILE: to the same place, as a file and not as a link.
copy() {
    mkdir -p "$root${1%/*}"
    cp -L "$1" "$root$1"
}

# package_of FILE: copies the license and the description of its package.
package_of() {
    name=$(dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}" 2>/dev/null || dpkg -S "$(readlink -f "$1")") ||
        { echo "root.sh: no package has $1" >&2; exit 1; }
    name=${name%%: *}
    name=${name%%,*}
    plain=${name%%:*}
    [ ! -e "$root/var/lib/dpkg/status.d/$plain" ] || return 0
    dpkg-query -s "$name" >"$root/var/lib/dpkg/status.d/$plain"
    copy "/usr/share/doc/$plain/copyright"
}

# library FILE: copies it and the libraries that it needs.
library() {
    [ ! -e "$root$1" ] || return 0
    copy "$1"
    package_of "$1"
    needs "$1"
}

needs() {
    for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case $name in
        ld-linux*) ;;
        *) library "$libraries/$name" ;;
        esac
    done
}

umask 022
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg/status.d" "$root/etc" "$root/tmp"
chmod 1777 "$root/tmp"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
cp "$binary" "$root/usr/bin/delaybridge"
copy "$interpreter"
needs "$binary"

# OpenSSL loads its provider of old algorithms by the path. Debian installs none for another architecture.
for provider in "$libraries"/ossl-modules/*.so; do
    [ ! -f "$provider" ] || library "$provider"
done
# Both of its paths to the certificates lead to the file of Debian.
copy /etc/ssl/openssl.cnf
package_of /etc/ssl/openssl.cnf
copy /etc/ssl/certs/ca-certificates.crt
package_of /usr/sbin/update-ca-certificates
mkdir -p "$root/usr/lib/ssl"
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
ln -s /etc/ssl/certs "$root/usr/lib/ssl/certs"
ln -s /etc/ssl/openssl.cnf "$root/usr/lib/ssl/openssl.cnf"

copy /etc/os-release
copy /etc/debian_version
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf '%s\n' root:x:0:0:root:/:/usr/sbin/nologin delaybridge:x:65532:65532:delaybridge:/:/usr/sbin/nologin >"$root/etc/passwd"
printf '%s\n' root:x:0: delaybridge:x:65532: >"$root/etc/group"
mkdir -p "$root/usr/share/common-licenses"
for license in /usr/share/common-licenses/*; do
    copy "$license"
done
echo "root.sh: $(find "$root" -type f | wc -l) files of $arch, $(ls "$root/var/lib/dpkg/status.d" | wc -l) packages, $(du -sh "$root" | cut -f1)"
