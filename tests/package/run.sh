#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BUILD_DIR WORK_DIR [OPTION...]    with options for the configuration of find_package/
# Installs what BUILD_DIR holds into WORK_DIR and uses it as strangers do. A trainer is headers alone:
# with both compilers and every warning, without CMake and nothing to link, with and without what
# gpu.hpp and start.hpp bring, twice in one process as hidden copies. A producer comes through
# find_package, through pkg-config, as a shared library, and the sources as a subdirectory: of these
# what their project is set up with and a few files, since compiling all of them again takes minutes;
# or of these a trainer's headers alone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
prefix=$work/prefix

# step NAME    the part of the test that follows
step=""
step() {
  step=$1
  echo "== $step"
}

# check COMMAND...    one that says nothing itself where it fails
check() {
  "$@" && return
  echo "run.sh: a check failed: $*" >&2
  exit 1
}

# says PATTERN FILE
says() {
  grep -q -e "$1" "$2" && return
  echo "run.sh: nothing like '$1' in $2:" >&2
  cat "$2" >&2
  exit 1
}

serve=""
end_serving() {
  [ -n "$serve" ] || return 0
  kill "$serve" 2>/dev/null || true
  wait "$serve" || true
  serve=""
}
ended() {
  status=$?
  end_serving
  [ "$status" -eq 0 ] || echo "run.sh: failed in: $step (exit code $status)" >&2
  exit "$status"
}
trap ended EXIT
trap 'exit 1' INT TERM

run_user() {
  mkdir -m 700 "$work/streams"
  BATCHCAST_DIR=$work/streams "$@"
  rm -r "$work/streams"
}

step "install"
cmake --install "$build" --prefix "$prefix" >/dev/null
"$prefix/bin/batchcast" --version
check test -f "$prefix/share/doc/batchcast/LICENSE"
says '^\.SS batchcast serve$' "$prefix/share/man/man1/batchcast.1"
bash -n "$prefix/share/bash-completion/completions/batchcast"

step "a trainer is headers: two compilers, two standards, every warning, nothing to link"
mkdir -m 700 "$work/served"
serve_for_trainers() {
  BATCHCAST_DIR=$work/served "$prefix/bin/batchcast" serve synthetic:8x8 --dtype u8 --samples 100 \
    --stream package-trainer --memory 1MiB >"$work/serve.log" 2>&1 &
  serve=$!
}
train() { BATCHCAST_DIR=$work/served timeout 60 "$@"; }
serve_for_trainers
strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Werror"
build_trainers() {
  compiler=$1
  strict="$strict $2"
  mkdir "$work/$compiler"
  for standard in c++20 c++2b; do
    for part in main half; do
      # Several words on purpose.
      # shellcheck disable=SC2086
      $compiler -std=$standard $strict -I "$prefix/include" -c "$here/trainer/$part.cpp" \
        -o "$work/$compiler/$part.o"
    done
    $compiler "$work/$compiler/main.o" "$work/$compiler/half.o" -o "$work/$compiler/trainer-$standard"
  done
  $compiler -std=c++20 -O1 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -shared \
    -I "$prefix/include" "$here/copies/plugin.cpp" -o "$work/copy-$compiler.so"
}
(build_trainers clang++-14 "") &
clang=$!
(build_trainers g++ -Wuseless-cast)
wait $clang
for trainer in "$work"/*/trainer-*; do
  train "$trainer" package-trainer
done
check test "$(echo "$work"/*/trainer-* | wc -w)" -eq 4
trainer=$work/g++/trainer-c++20
if ldd "$trainer" | grep -E 'batchcast|zmq|jpeg|archive|webp|spng|boost'; then
  echo "a trainer links something" >&2
  exit 1
fi

step "GPUs and starting a stream are one include each, in any file"
opt_in() {
  train "$work/opt_in/$1" package-trainer "$prefix/bin/batchcast" >"$work/opt_in/said"
}
mkdir "$work/opt_in"
for compiler in g++ clang++-14; do
  for part in main gpu start; do
    $compiler -std=c++20 -O1 -I "$prefix/include" -c "$here/opt_in/$part.cpp" -o "$work/opt_in/$part.o"
  done
  cp "$work/opt_in/main.o" "$work/opt_in/main-$compiler.o"
  $compiler "$work/opt_in/main.o" -o "$work/opt_in/without"
  $compiler "$work/opt_in/main.o" "$work/opt_in/gpu.o" "$work/opt_in/start.o" -o "$work/opt_in/with"
  opt_in without
  needs_gpu='InvalidArgument: batchcast: .*#include <batchcast/gpu.hpp>'
  says "^placement: $needs_gpu" "$work/opt_in/said"
  says "^own GPU: $needs_gpu" "$work/opt_in/said"
  says "^pin: $needs_gpu" "$work/opt_in/said"
  says '^start: InvalidArgument: batchcast: .*#include <batchcast/start.hpp>' "$work/opt_in/said"
  says '^neither: attached$' "$work/opt_in/said"
  opt_in with
  says '^start: attached$' "$work/opt_in/said"
  says '^neither: attached$' "$work/opt_in/said"
  check test "$(grep -c '#include' "$work/opt_in/said")" -eq 0
  # The driver's functions and the command are not even named where nothing asked for them.
  for name in cuInit libcuda BATCHCAST_COMMAND; do
    check grep -q -a "$name" "$work/opt_in/with"
    check test "$(grep -c -a "$name" "$work/opt_in/without")" -eq 0
  done
done

step "what an executable or a plug-in includes is its own, also where no symbol is hidden"
cd "$work/opt_in"
for compiler in g++ clang++-14; do
  for part in host plugin start; do
    $compiler -std=c++20 -O1 -fPIC -I "$prefix/include" -c "$here/opt_in/$part.cpp" -o "$part.o"
  done
  $compiler -shared plugin.o -o without.so
  $compiler -shared plugin.o start.o -o with.so
  $compiler host.o -ldl -o host-without
  $compiler host.o start.o -ldl -o host-with
  check test "$(nm -D with.so | grep -c -E 'brought_(gpu|start)')" -eq 0
  # A symbol that is not hidden is shared in either order; the loader keeps one for the process.
  for order in "with without" "without with"; do
    for host in with without; do
      # shellcheck disable=SC2046
      train "./host-$host" package-opt-in "$prefix/bin/batchcast" $(printf './%s.so ' $order) >said
      says '^\./with.so: attached$' said
      says '^\./without.so: batchcast: .*#include <batchcast/start.hpp>' said
      case $host in
        with) says '^host: attached$' said ;;
        *) says '^host: batchcast: .*#include <batchcast/start.hpp>' said ;;
      esac
    done
  done
done
cd - >/dev/null

step "two hidden copies in one process, of two compilers"
g++ -std=c++20 "$here/copies/main.cpp" -o "$work/copies"
train "$work/copies" package-trainer "$work/copy-g++.so" "$work/copy-clang++-14.so"
train "$work/copies" package-trainer "$work/copy-clang++-14.so" "$work/copy-g++.so"

step "an older language, or one without exceptions: one error, and nothing behind it"
old='batchcast needs C++20: compile with -std=c++20'
without='batchcast needs exceptions: compile without -fno-exceptions'
# refused TEXT HEADER COMPILER OPTION...
refused() {
  text=$1
  printf '#include <batchcast/%s>\nint main() { return batchcast::nothing; }\n' "$2" >"$work/refused.cpp"
  shift 2
  status=0
  "$@" -fsyntax-only -I "$prefix/include" "$work/refused.cpp" 2>"$work/refused" || status=$?
  check test $status -ne 0
  grep 'error:' "$work/refused" >"$work/errors"
  sed -n 1p "$work/errors" >"$work/first"
  says " error: .*$text" "$work/first"
  says 'fatal error: .*nothing behind the error above is compiled' "$work/errors"
  check test "$(wc -l <"$work/errors")" -eq 2
}
for compiler in g++ clang++-14; do
  refused "$without" consumer.hpp $compiler -std=c++20 -fno-exceptions
  refused "$old" consumer.hpp $compiler -std=c++17
done
for header in "$prefix"/include/batchcast/*.hpp "$prefix"/include/batchcast/data/*.hpp; do
  refused "$old" "${header#"$prefix/include/batchcast/"}" g++ -std=c++17
done

step "find_package, from a moved prefix, each header alone"
mv "$prefix" "$prefix-moved"
prefix=$prefix-moved
cmake -S "$here/find_package" -B "$work/find_package" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DBATCHCAST_PREFIX="$prefix" "$@" >/dev/null
mkdir -p "$work/nonsense"
echo 'cmake_minimum_required(VERSION 3.20)
project(nonsense CXX)
find_package(batchcast CONFIG REQUIRED COMPONENTS consumer nonsense)' >"$work/nonsense/CMakeLists.txt"
if cmake -S "$work/nonsense" -B "$work/nonsense/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  >/dev/null 2>"$work/nonsense.err"; then
  echo "a component that is not there is found" >&2
  exit 1
fi
says 'no component nonsense' "$work/nonsense.err"
cmake --build "$work/find_package"
run_user "$work/find_package/user"
# The tutorial's own project; what it compiles, the examples compile.
if [ -x "$work/find_package/torch_user" ]; then
  cmake --no-warn-unused-cli -S "$root/examples/tutorial" -B "$work/tutorial" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" "$@" >/dev/null
fi
[ ! -x "$work/find_package/torch_user" ] || run_user "$work/find_package/torch_user"
train "$work/find_package/trainer" package-trainer
[ ! -x "$work/find_package/torch_trainer" ] ||
  train "$work/find_package/torch_trainer" package-trainer
# libtorch 1.13's own headers do not compile with clang 14 as C++20; PyPI's do.
for torch in "$root"/build/torch/venv/lib/python3*/site-packages/torch; do
  [ -d "$torch" ] || continue
  clang++-14 -std=c++20 -Wsign-conversion -Werror -I "$prefix/include" -isystem "$torch/include" \
    -isystem "$torch/include/torch/csrc/api/include" "$here/trainer/torch_main.cpp" \
    -o "$work/torch_trainer_of_clang" -L "$torch/lib" -ltorch_cpu -lc10 -Wl,-rpath,"$torch/lib" \
    -Wl,--allow-shlib-undefined
  train "$work/torch_trainer_of_clang" package-trainer
done
end_serving

step "a trainer finds the command where the package is now, and nowhere else"
start_stream() {
  mkdir -m 700 "$work/streams"
  result=0
  env -u BATCHCAST_COMMAND PATH=/usr/bin:/bin BATCHCAST_DIR="$work/streams" \
    "$work/find_package/starter" 2>"$work/starter.err" || result=$?
  tries=0
  while [ -n "$(ls "$work/streams")" ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  rm -f "$work"/streams/.*.ended
  rmdir "$work/streams"
  return $result
}
start_stream
mv "$prefix/bin/batchcast" "$prefix/bin/elsewhere"
if start_stream; then
  echo "it was started with a command of another place" >&2
  exit 1
fi
says "$prefix/bin/batchcast" "$work/starter.err"
mv "$prefix/bin/elsewhere" "$prefix/bin/batchcast"

step "pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name batchcast.pc)")
export PKG_CONFIG_PATH
# Several words on purpose. What is compiled once is linked three times.
# shellcheck disable=SC2046
g++ -std=c++20 -c "$here/main.cpp" -o "$work/user.o" $(pkg-config --cflags batchcast)
# shellcheck disable=SC2046
g++ "$work/user.o" -o "$work/pkg_config_user" $(pkg-config --libs batchcast)
run_user "$work/pkg_config_user"
# shellcheck disable=SC2046
g++ -std=c++20 "$here/trainer/main.cpp" "$here/trainer/half.cpp" -o "$work/pkg_config_trainer" \
  $(pkg-config --cflags --libs batchcast-consumer)

# Most dependencies are there as shared libraries only, and what those use is no concern of a user's.
# shellcheck disable=SC2046
g++ "$work/user.o" -o "$work/pkg_config_static_user" $(pkg-config --static --libs batchcast)
run_user "$work/pkg_config_static_user"

step "one file takes the library, another one the headers: what the library has is there"
# shellcheck disable=SC2046
g++ -std=c++20 -c "$here/mixed/library.cpp" -o "$work/library_user.o" $(pkg-config --cflags batchcast)
# shellcheck disable=SC2046
g++ "$work/opt_in/main-g++.o" "$work/library_user.o" -o "$work/opt_in/mixed" $(pkg-config --libs batchcast)
opt_in mixed
says '^start: attached$' "$work/opt_in/said"
check test "$(grep -c '#include' "$work/opt_in/said")" -eq 0

step "a shared library of the same objects"
# shellcheck disable=SC2046
g++ -shared -Wl,-z,defs -o "$work/libbatchcast.so" \
  -Wl,--whole-archive "$(find "$prefix" -name libbatchcast.a)" -Wl,--no-whole-archive \
  $(pkg-config --libs-only-l batchcast | tr ' ' '\n' | grep -vx -e -lbatchcast) -pthread
g++ "$work/user.o" -o "$work/shared_user" "$work/libbatchcast.so" -Wl,-rpath,"$work"
run_user "$work/shared_user"

step "add_subdirectory of a trainer's headers: nothing but Boost's is looked for"
mkdir "$work/watched"
for command in pkg-config pkgconf python3 python nvcc; do
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 1\n' "$work/looked_for" >"$work/watched/$command"
  chmod +x "$work/watched/$command"
done
PATH=$work/watched:$PATH cmake -S "$here/consumer_alone" -B "$work/consumer_alone" -G Ninja >/dev/null
check test ! -e "$work/looked_for"
sed -nE 's/^([A-Za-z0-9_]+):.*/\1/p' "$work/consumer_alone/CMakeCache.txt" >"$work/cached"
if grep -E 'zmq|NVCC|CUDA|Python|PKG_CONFIG|Torch|TORCH_|jpeg' "$work/cached"; then
  echo "run.sh: that was looked for" >&2
  exit 1
fi
cmake --build "$work/consumer_alone"
if [ -x "$work/find_package/torch_user" ]; then
  cmake --no-warn-unused-cli -S "$here/consumer_alone" -B "$work/consumer_alone" "$@" >/dev/null
fi

step "add_subdirectory"
cmake -S "$here/add_subdirectory" -B "$work/add_subdirectory" -G Ninja -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 >/dev/null
cd "$work/add_subdirectory"
rooms=batchcast/CMakeFiles/batchcast_room
ninja user_object ${rooms}_compiled.dir/src/compiled/compiled_consumer.cpp.o \
  ${rooms}_control.dir/src/control/messenger.cpp.o \
  ${rooms}_data_codec.dir/src/data/codec/decoder.cpp.o
# What users link would be made of these, as the shared library that they asked for.
ninja -t inputs user >"$work/inputs"
says '^batchcast/libbatchcast\.so' "$work/inputs"
says "^${rooms}_compiled.dir/src/compiled/compiled_consumer.cpp.o\$" "$work/inputs"
