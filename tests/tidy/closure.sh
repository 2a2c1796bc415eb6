#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh closure.sh LINES COMPILER OPTION...
# Checks that <batchcast/consumer.hpp>, as headers alone, is at most LINES lines of this project's, and that
# the rooms which gpu.hpp and start.hpp bring are not among them (docs/decisions/0030).
set -eu
lines_max=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compiler=$1
shift
echo '#include <batchcast/consumer.hpp>' >"$work/consumer.cpp"
"$compiler" "$@" -std=c++20 -M "$work/consumer.cpp" | sed 's| |\n|g' | grep 'include/batchcast/' >"$work/headers"
lines=$(xargs cat <"$work/headers" | wc -l)
status=0
if [ "$lines" -gt "$lines_max" ]; then
  echo "consumer.hpp: the $lines lines that it includes are more than $lines_max; the longest:"
  xargs wc -l <"$work/headers" | sort -rn | sed -n 2,11p
  status=1
fi
if grep -E 'batchcast/(cuda|delivery|starting)/' "$work/headers"; then
  echo "consumer.hpp includes these, which only gpu.hpp and start.hpp may bring"
  status=1
fi
echo "consumer.hpp: $lines lines in $(wc -l <"$work/headers") headers"
exit $status
