#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh PYTHON BUILD_DIR SECONDS [PYTEST_ARGUMENT...]    Runs tests of this folder with the
# package that BUILD_DIR holds. What takes longer than SECONDS says where it stands, and is killed
# with all that it started.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1
build=$(cd "$2" && pwd)
seconds=$3
shift 3

work=$(mktemp -d /tmp/batchcast-python.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -m 700 "$work/streams"
export BATCHCAST_DIR="$work/streams"
export BATCHCAST_TEST_COMMAND="${BATCHCAST_TEST_COMMAND:-$build/batchcast}"
export PYTHONPATH="$build/python"
# Nothing is written beside the sources. One thread of torch for each process: they are many.
export PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1
cd "$here"
timeout --kill-after=5 "$seconds" "$python" -m pytest -p no:cacheprovider \
  --basetemp="$work/pytest" -o faulthandler_timeout=$((seconds - 5)) "$@"
