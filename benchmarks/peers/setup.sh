#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Installs the Python peers into an environment of their own, build/peers/venv: about 7 GB, since the
# default wheels of torch bring CUDA's libraries, and torch does not load without them.
# Usage: setup.sh [--dir DIR]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/build/peers
while [ $# -gt 0 ]; do
  case $1 in
    --dir) dir=${2:?--dir needs a folder} && shift 2 ;;
    *)
      echo "setup.sh: unknown option $1 (--dir)" >&2
      exit 2
      ;;
  esac
done

sh "$root/cmake/bootstrap.sh" peers
stamp=$dir/venv/requirements.txt
if cmp -s "$root/benchmarks/peers/requirements.txt" "$stamp"; then
  echo "$dir/venv is already there" >&2
  exit 0
fi
mkdir -p "$dir"
free_mib=$(df -mP "$dir" | awk 'NR == 2 { print $4 }')
if [ "$free_mib" -lt 12000 ]; then
  echo "setup.sh: $dir has $free_mib MiB free; the peers need about 12,000 while they install" >&2
  exit 1
fi
# Debian's Python: the one that every machine of the benchmarks has.
/usr/bin/python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --no-cache-dir --quiet -r "$root/benchmarks/peers/requirements.txt" >&2
cp "$root/benchmarks/peers/requirements.txt" "$stamp"
