#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BUILD_DIR WORK_DIR [OPTION...]    with options for the configuration of find_package/
# Installs what BUILD_DIR holds into WORK_DIR and uses it as strangers do: through find_package,
# through pkg-config without CMake, and the sources as a subdirectory (as a shared library there).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
prefix=$work/prefix

run_user() {
  mkdir -m 700 "$work/streams"
  BATCHCAST_DIR=$work/streams "$@"
  rm -r "$work/streams"
}

echo "== install"
cmake --install "$build" --prefix "$prefix" >/dev/null
"$prefix/bin/batchcast" --version
test -f "$prefix/share/doc/batchcast/LICENSE"

echo "== find_package, from a moved prefix, each header alone"
mv "$prefix" "$prefix-moved"
prefix=$prefix-moved
cmake -S "$here/find_package" -B "$work/find_package" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DBATCHCAST_PREFIX="$prefix" "$@" >/dev/null
cmake --build "$work/find_package"
run_user "$work/find_package/user"
[ ! -x "$work/find_package/torch_user" ] || run_user "$work/find_package/torch_user"

echo "== pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name batchcast.pc)")
export PKG_CONFIG_PATH
# Several words on purpose.
# shellcheck disable=SC2046
g++ -std=c++20 "$here/main.cpp" -o "$work/pkg_config_user" $(pkg-config --cflags --libs batchcast)
run_user "$work/pkg_config_user"

echo "== add_subdirectory"
cmake -S "$here/add_subdirectory" -B "$work/add_subdirectory" -G Ninja -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 >/dev/null
cmake --build "$work/add_subdirectory"
run_user "$work/add_subdirectory/user"
