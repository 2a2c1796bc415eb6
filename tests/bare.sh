#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# bare.sh [FOLDER [COMMAND...]]: the README's two commands, word for word, on a bare Debian 12: debootstrap
# makes one in FOLDER with a shell, git and apt, and they run there in a clone below /root, a folder that is
# closed to other users. Or each COMMAND instead of them. A FOLDER that is named is kept: it is made where it
# is not there, and gets a new clone each time. Without, it is a temporary one, which is removed.
# Tested is what is committed. By root, on a machine with debootstrap; everything is loaded anew, from Debian
# and PyPI. DEBIAN_MIRROR names another mirror.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

wrong() {
  echo "bare: $*" >&2
  exit 2
}

# The commands of the README's first block of shell, without what stands behind them.
readme_commands() {
  awk '/^```/ { if (inside) exit; inside = $0 == "```sh"; next } inside { sub(/ +#.*/, ""); print }' \
    "$here/README.md"
}

# What this machine's own apt and pip reach their servers with.
copy_access() {
  apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90access"
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /usr/local/share/ca-certificates/*.crt; do
    [ ! -e "$file" ] || cat "$file" >"$root$file"
  done
  chroot "$root" update-ca-certificates >/dev/null
}

# in_bare COMMAND    in a mount and process namespace, so that nothing of it is left here
in_bare() {
  # shellcheck disable=SC2016 # for the other shell
  unshare --mount --propagation private --pid --fork --kill-child sh -euc '
    root=$1
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
      ${no_proxy:+"no_proxy=$no_proxy"} /bin/sh -c "$2"' in_bare "$root" "$1"
}

[ "$(id -u)" -eq 0 ] || wrong "this needs root: debootstrap and chroot do"
command -v debootstrap >/dev/null || wrong "no debootstrap; \`apt-get install debootstrap\` installs it"
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  root=$(cd "$1" && pwd)
  shift
else
  root=$(mktemp -d /var/tmp/batchcast-bare.XXXXXX)
  trap 'rm -rf --one-file-system "$root"' EXIT
  trap 'exit 1' INT TERM
fi
[ -z "$(git -C "$here" status --porcelain)" ] || echo "bare: what is not committed is not tested" >&2

if [ ! -e "$root/debootstrap-complete" ]; then
  [ -z "$(ls "$root")" ] || wrong "$root is not empty, and no bare Debian of this script's"
  echo "== debootstrap"
  debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror"
  touch "$root/debootstrap-complete"
fi
copy_access

echo "== a clone below /root"
rm -rf "$root/root/batchcast" "$root/srv/batchcast.git"
git clone --quiet --bare --no-local "$here" "$root/srv/batchcast.git"
chmod 700 "$root/root"
in_bare 'git -c safe.directory="*" clone --quiet /srv/batchcast.git /root/batchcast'

if [ $# -eq 0 ]; then
  commands=$(readme_commands)
  [ "$(echo "$commands" | wc -l)" -eq 2 ] || wrong "the README's first block is not two commands: $commands"
  set -- "$(echo "$commands" | head -n 1)" "$(echo "$commands" | tail -n 1)"
fi
for command in "$@"; do
  echo "== $command"
  status=0
  in_bare "cd /root/batchcast && $command" </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    echo "bare: \`$command\` failed on a bare Debian 12, with $status" >&2
    exit 1
  fi
done
echo "bare: each command passed on a bare Debian 12"
