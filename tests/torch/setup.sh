#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Installs PyPI's libtorch into build/torch/venv for the tests: about 600 MB to load, 1.3 GB on disk.
# Does nothing where it stands.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/build/torch
requirements=$root/tests/torch/requirements.txt
stamp=$dir/venv/requirements.txt

machine=$(uname -m)
if [ "$machine" != x86_64 ]; then
  echo "tests/torch: PyPI's libtorch is tested on x86_64 only; on $machine only Debian's is" >&2
  exit 0
fi
if cmp -s "$requirements" "$stamp"; then
  exit 0
fi

# The stamp is written last: whatever stands here without it is half an installation.
rm -rf "$dir/venv"
mkdir -p "$dir"
free_mib=$(df -mP "$dir" | awk 'NR == 2 { print $4 }')
if [ "$free_mib" -lt 3000 ]; then
  echo "tests/torch: $dir has $free_mib MiB free; libtorch needs about 3,000 while it installs" >&2
  exit 1
fi
echo "tests/torch: installing PyPI's libtorch into $dir/venv" >&2
# Debian's python3, whichever another is active.
/usr/bin/python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip install --no-cache-dir --no-compile --no-deps --quiet \
  --disable-pip-version-check -r "$requirements" >&2
cp "$requirements" "$stamp"
