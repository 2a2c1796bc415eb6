#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh format_selftest.sh FOLDER    plants a badly formatted file in FOLDER: format.sh must object,
# and must not once the file is in order.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1"
mkdir -p "$1"
cp "$here/../../.clang-format" "$1"

printf 'int  main( ) {return 0;}\n' >"$1/planted.cpp"
if sh "$here/format.sh" "$1" 2>/dev/null; then
  echo "a badly formatted file passed" >&2
  exit 1
fi
printf 'int main() { return 0; }\n' >"$1/planted.cpp"
sh "$here/format.sh" "$1"
