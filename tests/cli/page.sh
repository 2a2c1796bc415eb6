#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh page.sh BATCHCAST [FOLDER]    the page of `batchcast metrics` in a Chromium without a screen. With FOLDER it
# tests nothing, and leaves the pictures of the docs there: sh tests/cli/page.sh build/release/batchcast docs/operate
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
for tool in chromium chromedriver; do
  command -v $tool >/dev/null || { echo "SKIPPED: no $tool; sh cmake/bootstrap.sh operate installs it"; exit 77; }
done
/usr/bin/python3 -c 'import selenium' 2>/dev/null ||
  { echo "SKIPPED: no python3-selenium; sh cmake/bootstrap.sh operate installs it"; exit 77; }
. "$here/support.sh"
if "$batchcast" metrics --listen 127.0.0.1:x 2>&1 | grep -q 'built without'; then
  echo "SKIPPED: this build has no metrics"
  exit 77
fi

export TZ=UTC LC_ALL=C.UTF-8 HOME="$work"
checks=1
timeout 250 /usr/bin/python3 "$here/look_at_page.py" "$batchcast" "$work" ${2+"$2"} || fail "the page"
finish
