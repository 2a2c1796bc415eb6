#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Makes the Python of tests/python that has Ray, in build/python/ray, once setup.sh has made torch2,
# whose packages it sees. 80 MB to load. Does nothing where it stands.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(cd "$here/../.." && pwd)/build/python
if [ ! -e "$dir/torch2/complete" ]; then
  echo "tests/python: without Ray, which needs what setup.sh installs" >&2
  exit 0
fi
stamp=$(cat "$here/setup_ray.sh" "$here/requirements-ray.txt" | sha256sum)
if [ "$(cat "$dir/ray/complete" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
echo "tests/python: installing Ray into $dir/ray" >&2
rm -rf "$dir/ray"
/usr/bin/python3 -m venv --without-pip "$dir/ray"
packages=$(echo "$dir"/ray/lib/python3*/site-packages)
echo "../../../../torch2/lib/$(basename "$(dirname "$packages")")/site-packages" >"$packages/torch2.pth"
"$dir/venv/bin/python" -m pip --python "$dir/ray/bin/python" install --no-cache-dir --no-compile \
  --no-deps --quiet --disable-pip-version-check -r "$here/requirements-ray.txt" >&2
# What tests import is compiled here, once.
env -u PYTHONDONTWRITEBYTECODE "$dir/ray/bin/python" -W ignore -c \
  "import ray.cluster_utils, ray.data, ray.train, ray.tune" >&2
echo "$stamp" >"$dir/ray/complete"
