#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh cuda_stand_ins.sh TORCH_DIR FOLDER    Makes in FOLDER what PyPI's torch wants of CUDA beyond
# the runtime: libraries that have all names and do nothing. Without them `import torch` fails, the
# real ones are 3 GB, and without a GPU none of it is called. A call says so and aborts.
set -eu
torch=$1
folder=$2

libraries=$(readelf -dW "$torch"/lib/libtorch_cuda.so "$torch"/lib/libtorch_nvshmem.so \
  "$torch"/lib/libtorch_python.so | sed -n 's/.*NEEDED.*\[\(lib\(cu\|nccl\|nvshmem\).*\)\]/\1/p' |
  sort -u)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of `name version`, or `name` alone.
nm -D --undefined-only "$torch"/lib/libtorch_cuda.so "$torch"/lib/libtorch_nvshmem.so \
  "$torch"/lib/libtorch_python.so "$torch"/lib/libc10_cuda.so |
  sed -nE 's/^ +U ((cu[a-zF]+|nccl|nvshmem[a-z]*)[A-Z_][A-Za-z0-9_]*)(@(.*))?$/\1 \4/p' |
  sort -u >"$work/names"
{
  cat <<'END'
#include <stdio.h>
#include <stdlib.h>
static void called(void) {
  fputs("a stand-in for a CUDA library was called: tests/python/cuda_stand_ins.sh\n", stderr);
  abort();
}
END
  sed -E 's/^([^ ]+).*/void \1(void) __attribute__((alias("called")));/' "$work/names"
} >"$work/stand_ins.c"
awk 'NF == 2 { names[$2] = names[$2] " " $1 ";" }
     END { for (version in names) print version " {" names[version] " };" }' \
  "$work/names" >"$work/versions"

# One for all: libraries are told apart by the names under which they are looked for.
mkdir -p "$folder"
gcc -shared -fPIC -O1 -w "$work/stand_ins.c" -Wl,--version-script="$work/versions" \
  -o "$folder/batchcast_stand_ins.so"
for library in $libraries; do
  [ -e "$folder/$library" ] || ln -s batchcast_stand_ins.so "$folder/$library"
done
