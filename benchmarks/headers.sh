#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the headers cost a trainer's compiler at -O2, in CPU seconds: consumer.hpp beside an empty file,
# torch.hpp beside torch/torch.h, and small trainers as a whole. See README.md in this folder.
# Usage: headers.sh [--quick] [--rounds N] [--build-dir DIR] [--compiler CXX] [--torch DIR]
#   --torch DIR   a libtorch: its folder with include/ (Debian's where it is not given)
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"

compiler=g++
torch=/usr
header_option() {
  case $1 in
    --compiler) compiler=${2:?--compiler needs a command} shift_by=2 ;;
    --torch) torch=${2:?--torch needs a folder} shift_by=2 ;;
    *) common_option "$@" ;;
  esac
}
read_options header_option "$@"

# compile CASE SOURCE: appends the CPU seconds of compiling it to results.
compile() {
  case_name=$1
  shift
  sh -c '"$@" >&2; echo "status $?"; times' sh "$compiler" -std=c++20 -O2 -I "$root/include" \
    -I "$generated" -isystem "$api" $torch_include -c "$@" -o "$scratch/object.o" >"$scratch/times" ||
    die "sh failed"
  grep -q '^status 0$' "$scratch/times" || die "$case_name does not compile"
  tail -n 1 "$scratch/times" | tr 'ms' '  ' |
    awk -v name="$case_name" '{ print name, $1 * 60 + $2 + $3 * 60 + $4 }' >>"$scratch/results"
}

make_scratch
# The one header that CMake makes.
if [ -e "$build_dir/include/batchcast/version.hpp" ]; then
  generated=$build_dir/include
else
  generated=$scratch/include
  mkdir -p "$generated/batchcast"
  sed 's/@PROJECT_VERSION_[A-Z]*@/0/; s/@PROJECT_VERSION@/0/' "$root/include/batchcast/version.hpp.in" \
    >"$generated/batchcast/version.hpp"
fi
api=$torch/include/torch/csrc/api/include
torch_include=""
# The compiler knows /usr/include, and other headers must stay in front of it.
[ "$torch" = /usr ] || torch_include="-isystem $torch/include"
[ -e "$api/torch/version.h" ] || api=""
echo 'int nothing;' >"$scratch/empty.cpp"
echo '#include <batchcast/consumer.hpp>' >"$scratch/consumer.cpp"
echo '#include <torch/torch.h>' >"$scratch/torch.cpp"
printf '#include <torch/torch.h>\n#include <batchcast/torch.hpp>\n' >"$scratch/batchcast_torch.cpp"

note_load
: >"$scratch/results"
round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  compile empty "$scratch/empty.cpp"
  compile consumer "$scratch/consumer.cpp"
  compile trainer "$root/tests/package/trainer/main.cpp"
  if [ -n "$api" ]; then
    compile torch "$scratch/torch.cpp"
    compile batchcast_torch "$scratch/batchcast_torch.cpp"
    compile torch_trainer "$root/tests/package/trainer/torch_main.cpp"
  fi
  tail -n 1 "$scratch/results" >&2
done
for key in $(awk '!seen[$1]++ { print $1 }' "$scratch/results"); do
  echo "$key $(awk -v key="$key" '$1 == key { print $2 }' "$scratch/results" | median_min_max)"
done >"$scratch/rows"
# What the headers add, round by round.
awk '{ v[$1, ++n[$1]] = $2 }
  END {
    for (i = 1; i <= n["empty"]; i++) {
      print "consumer_adds", v["consumer", i] - v["empty", i]
      if (n["torch"]) print "torch_adds_percent", 100 * (v["batchcast_torch", i] / v["torch", i] - 1)
    }
  }' "$scratch/results" >"$scratch/added"
for key in $(awk '!seen[$1]++ { print $1 }' "$scratch/added"); do
  echo "$key $(awk -v key="$key" '$1 == key { print $2 }' "$scratch/added" | median_min_max)"
done >>"$scratch/rows"

others=$(others_percent)
machine_line
$compiler --version | head -n 1
awk 'BEGIN {
    target["consumer_adds"] = "<= 2 s"; target["torch_adds_percent"] = "<= 15 %"
    name["empty"] = "an empty file"; name["consumer"] = "consumer.hpp alone"
    name["trainer"] = "a small trainer"; name["torch"] = "torch/torch.h alone"
    name["batchcast_torch"] = "with batchcast/torch.hpp"; name["torch_trainer"] = "a small libtorch trainer"
    name["consumer_adds"] = "consumer.hpp adds, s"; name["torch_adds_percent"] = "torch.hpp adds, %"
    f = "%-26s %9s %9s %9s  %s\n"
    printf f, "CPU seconds", "median", "min", "max", "target"
  }
  { printf f, name[$1], sprintf("%.2f", $2), sprintf("%.2f", $3), sprintf("%.2f", $4), target[$1] }' \
  "$scratch/rows"
warn_if_disturbed "$others"
awk -v machine="$(machine_json)" -v rounds="$rounds" -v others="$others" '
  BEGIN { printf "{\"benchmark\":\"headers\",\"machine\":{%s},\"rounds\":%s,\"others_percent\":%s",
            machine, rounds, others }
  { printf ",\"%s\":%s,\"%s_min\":%s,\"%s_max\":%s", $1, $2, $1, $3, $1, $4 }
  END { print "}" }' "$scratch/rows"
