#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh format.sh FOLDER...    checks the C++ below these folders against .clang-format
# sh format.sh --fix FOLDER...    formats it
set -eu

# Every version formats a little differently; the project's is the one in Debian 12.
formatter=""
for candidate in clang-format-14 clang-format; do
  command -v "$candidate" >/dev/null || continue
  case $("$candidate" --version) in *"version 14."*) formatter=$candidate && break ;; esac
done
if [ -z "$formatter" ]; then
  echo "clang-format 14 is missing: sh cmake/bootstrap.sh tests" >&2
  exit 1
fi

mode="--dry-run -Werror"
if [ "${1-}" = --fix ]; then
  mode=-i
  shift
fi
# $mode is two words on purpose.
# shellcheck disable=SC2086
find "$@" -type d -name fixtures -prune -o \
  \( -name '*.hpp' -o -name '*.ipp' -o -name '*.cpp' -o -name '*.h' \) -type f -exec "$formatter" $mode {} +
