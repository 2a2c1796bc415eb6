# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the benchmark scripts share; sourced, not run. The script sets `root` (the repository) first.
# Options that every script takes: --quick, --rounds N, --build-dir DIR, --batchcast PATH, --bundle DIR.
# shellcheck shell=sh disable=SC2034 # what is set here is read by the scripts

: "${root:?}"
rounds=5
build_dir=${BATCHCAST_BUILD_DIR:-$root/build/benchmarks}
batchcast=
bundle=
cmake_option=
target=batchcast_benchmarks
script_name=$(basename "$0")

die() {
  echo "$script_name: $*" >&2
  exit 1
}

# common_option ARG [VALUE]: sets `shift_by` to what it took, 0 if the option is not a common one.
common_option() {
  shift_by=0
  case $1 in
    --quick) rounds=1 shift_by=1 ;;
    --rounds) rounds=${2:?--rounds needs a number} shift_by=2 ;;
    --build-dir) build_dir=${2:?--build-dir needs a folder} shift_by=2 ;;
    --batchcast) batchcast=${2:?--batchcast needs a path} shift_by=2 ;;
    --bundle) bundle=${2:?--bundle needs a folder} shift_by=2 ;;
  esac
}

# read_options FUNCTION ARG...: the script's arguments. FUNCTION is as common_option: a script that has options of its
# own leaves the others to common_option, or to one of images.sh.
read_options() {
  option_function=$1
  shift
  while [ $# -gt 0 ]; do
    "$option_function" "$@"
    [ "$shift_by" -gt 0 ] || die "unknown option $1 ($(usage_options))"
    shift "$shift_by"
  done
}

# The options that the usage in the script's first lines names, for messages.
usage_options() {
  sed -n '/^# Usage: /,/^[^#]/s/^#//p' "$0" | grep -o -e '--[a-z-]*' |
    awk '!seen[$0]++ { printf "%s%s", separator, $0; separator = ", " }'
}

# Builds the release binaries, unless --batchcast names one that is there. Sets `batchcast`. A script may set
# `cmake_option` and `target`. With --bundle nothing is installed: what cmake/bundle.sh took along is used.
build() {
  if [ -z "$batchcast" ]; then
    if [ -n "$bundle" ]; then
      bundle=$(cd "$bundle" && pwd) || die "there is no bundle $bundle"
    else
      sh "$root/cmake/bootstrap.sh" benchmarks >&2 || die "cmake/bootstrap.sh failed"
    fi
    generator=Ninja
    command -v ninja >/dev/null || generator="Unix Makefiles"
    cmake -S "$root" -B "$build_dir" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
      -DBATCHCAST_BUILD_BENCHMARKS=ON ${bundle:+"-DCMAKE_PREFIX_PATH=$bundle"} \
      ${cmake_option:+"$cmake_option"} >&2 || die "cmake failed"
    cmake --build "$build_dir" -j "$(nproc)" --target "$target" >&2 || die "the build failed"
    batchcast=$(find "$build_dir" -type f -name batchcast -perm -u+x | head -n 1)
  fi
  [ -x "$batchcast" ] || die "no executable batchcast in $build_dir"
}

# A fresh folder for logs and results. However the script ends, `finish` cleans up; a script may have its own.
make_scratch() {
  pids=
  producer=
  scratch=$(mktemp -d) || die "mktemp failed"
  : >"$scratch/results"
  : >"$scratch/failed"
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# finish: ends $pids and $producer, and removes the folder.
finish() {
  trap '' INT TERM HUP
  for pid in $pids $producer; do kill -TERM "$pid" 2>/dev/null; done
  wait
  rm -rf "$scratch"
}

# Streams of this script alone.
own_streams() {
  export BATCHCAST_DIR="$scratch/streams"
  mkdir -m 700 "$BATCHCAST_DIR"
}

# each_round COMMAND...: calls it $rounds times, and sets `round`.
each_round() {
  round=0
  while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    "$@"
  done
}

# show_results: what the script's `table` and `json` make of "$scratch/rows", with the machine it was measured on.
show_results() {
  others=$(others_percent)
  machine_line
  table
  warn_if_disturbed "$others"
  json
}

# json_value KEY: that number from the last line of stdin, which is one JSON object.
json_value() {
  tail -n 1 | sed -n 's/.*"'"$1"'": *\([-+0-9.eE]*\).*/\1/p'
}

# median, smallest and largest of the numbers on stdin; "- - -" if there are none.
median_min_max() {
  sort -g | awk '{ v[NR] = $1 }
    END {
      if (NR == 0) { print "- - -"; exit }
      m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      printf "%.9g %.9g %.9g\n", m, v[1], v[NR]
    }'
}

# The machine as the inside of a JSON object. The load shows whether the machine was quiet.
machine_json() {
  cpu=$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo)
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt" 2>/dev/null)
  version=$("${compiler:-c++}" --version 2>/dev/null | head -n 1)
  memory=$(awk '/^MemTotal:/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo)
  printf '"cpu":"%s","cores":%s,"memory_gib":%s,"kernel":"%s","compiler":"%s","load_before":%s' \
    "${cpu:-$(uname -m)}" "$(getconf _NPROCESSORS_ONLN)" "$memory" "$(uname -r)" "$version" \
    "${load_before:-null}"
}

note_load() {
  load_before=$(cut -d' ' -f1 /proc/loadavg)
  busy_before=$(busy_ticks)
}

# Ticks since boot: what all processors worked, what this script and its ended children had of it, and
# what they could have worked.
busy_ticks() {
  sed 's/.*) //' "/proc/$$/stat" | cat - /proc/stat | awk '
    NR == 1 { own = $12 + $13 + $14 + $15 }
    $1 == "cpu" { print $2 + $3 + $4 + $7 + $8 + $9 - own, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }'
}

# others_percent: how much of the machine others had since note_load. Valid once all children are reaped.
others_percent() {
  echo "$busy_before $(busy_ticks)" |
    awk '{ p = 100 * ($3 - $1) / ($4 - $2); printf "%.1f", (p > 0 ? p : 0) }'
}

# warn_if_disturbed PERCENT
warn_if_disturbed() {
  awk -v p="$1" 'BEGIN { if (p > 3) {
    printf "Other processes had %s%% of the machine meanwhile: measure again when it is quiet.\n", p } }'
}

# machine_line: the same for people.
machine_line() {
  awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo | tr '\n' ','
  echo " $(getconf _NPROCESSORS_ONLN) cores, Linux $(uname -r), load before $load_before," \
    "$rounds round(s)"
}

# end_process PID: TERM, five seconds, KILL; then reaps it.
end_process() {
  kill -TERM "$1" 2>/dev/null || return 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.5
  done
  kill -KILL "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

# end_producer: returns once it is gone, and with it the name of its stream.
end_producer() {
  end_process "$producer"
  producer=
}
