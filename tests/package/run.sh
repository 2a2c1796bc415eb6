#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BUILD_DIR WORK_DIR [OPTION...]    with options for the configuration of find_package/
# Installs what BUILD_DIR holds into WORK_DIR and uses it as strangers do: through find_package,
# through pkg-config without CMake, as a shared library, and the sources as a subdirectory: of these
# what their project is set up with and a few files, since compiling all of them again takes minutes.
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

# Most dependencies are there as shared libraries only, and what those use is no concern of a user's.
# shellcheck disable=SC2046
g++ -std=c++20 "$here/main.cpp" -o "$work/pkg_config_static_user" \
  $(pkg-config --static --cflags --libs batchcast)
run_user "$work/pkg_config_static_user"

echo "== a shared library of the same objects"
# shellcheck disable=SC2046
g++ -shared -Wl,-z,defs -o "$work/libbatchcast.so" \
  -Wl,--whole-archive "$(find "$prefix" -name libbatchcast.a)" -Wl,--no-whole-archive \
  $(pkg-config --libs-only-l batchcast | tr ' ' '\n' | grep -vx -e -lbatchcast) -pthread
# shellcheck disable=SC2046
g++ -std=c++20 "$here/main.cpp" -o "$work/shared_user" $(pkg-config --cflags batchcast) \
  "$work/libbatchcast.so" -Wl,-rpath,"$work"
run_user "$work/shared_user"

echo "== add_subdirectory"
cmake -S "$here/add_subdirectory" -B "$work/add_subdirectory" -G Ninja -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 >/dev/null
cd "$work/add_subdirectory"
objects=batchcast/CMakeFiles/batchcast.dir/src
ninja user_object $objects/consumer.cpp.o $objects/control/messenger.cpp.o \
  $objects/data/image_decoder.cpp.o
# What users link would be made of these, as the shared library that they asked for.
ninja -t inputs user | grep -qx 'batchcast/libbatchcast\.so.*'
ninja -t inputs user | grep -qx $objects/consumer.cpp.o
