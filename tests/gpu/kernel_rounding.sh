#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# kernel_rounding.sh NVCC FLAGS… SOURCE: what nvcc makes of the kernel rounds each product and each sum, as the CPU
# does, and that halves are made by the GPU's own conversions.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$@" -ptx -arch=compute_90 -o "$work/kernel.ptx"
if grep -n 'fma\.\|mad\.[a-z.]*f32' "$work/kernel.ptx"; then
  echo "a product and a sum were contracted" >&2
  exit 1
fi
for kept in 'mul\.rn\.f32' 'add\.rn\.f32' 'st\.global\.v4' 'cvt\.rn\.f16\.f32' 'cvt\.rn\.bf16\.f32'; do
  grep -q "$kept" "$work/kernel.ptx" || { echo "no $kept in what nvcc made" >&2; exit 1; }
done
