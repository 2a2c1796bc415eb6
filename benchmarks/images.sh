# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the scripts share that measure on images or beside peers in Python; sourced after common.sh.
# Options: --images DIR (made there if it is not), --seconds S (of each run), --peers DIR; of some --package DIR.
# shellcheck shell=sh disable=SC2034,SC2154 # what is set here is read by the scripts, and the reverse

: "${root:?}"
images=
seconds=10
peers=$root/build/peers
package=

# image_option ARG [VALUE]: as common_option.
image_option() {
  shift_by=0
  case $1 in
    --images) images=${2:?--images needs a folder} shift_by=2 ;;
    --seconds) seconds=${2:?--seconds needs a number} shift_by=2 ;;
    --peers) peers=${2:?--peers needs a folder} shift_by=2 ;;
    *) common_option "$@" ;;
  esac
}

# package_option ARG [VALUE]: the same, for scripts that measure the Python package.
package_option() {
  case $1 in
    --package) package=${2:?--package needs a folder} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}

# Makes the images once, and has them in the page cache before the first measurement. Sets `drawer`, a Python
# that can make images.
prepare_images() {
  images=${images:-$build_dir/images}
  # Debian's, for which bootstrap.sh installs what it needs; elsewhere whichever is active.
  drawer=/usr/bin/python3
  "$drawer" -c 'import numpy, PIL' 2>/dev/null || drawer=python3
  if [ ! -d "$images" ] || [ -e "$images/.batchcast-images.json" ]; then
    "$drawer" "$root/benchmarks/make_images.py" "$images" >&2 || die "make_images.py failed"
  fi
  find "$images" -name '*.jpg' -exec cat {} + >/dev/null
}

# binary NAME: a benchmark of this folder, next to the measured batchcast or in the build folder.
binary() {
  for place in "$build_dir" "$(dirname "$batchcast")"; do
    found=$(find "$place" -type f -name "$1" -perm -u+x 2>/dev/null | head -n 1)
    [ -z "$found" ] || break
  done
  echo "$found"
}

# Sets `python` to that of the peers, or to nothing.
find_python() {
  python=$peers/venv/bin/python
  [ -x "$python" ] && return
  python=
  echo "the Python peers are not installed and are left out: sh benchmarks/peers/setup.sh" >&2
}

need_python() {
  find_python
  [ -n "$python" ] || die "there is no torch to measure with: sh benchmarks/peers/setup.sh"
}

# build_package TARGET: builds that with the Python package, which every Python imports from here on.
build_package() {
  target=$1
  cmake_option=-DBATCHCAST_PYTHON=ON
  # The one that has nanobind, where tests/python/setup.sh made it.
  [ ! -d "$root/build/python/venv" ] || export VIRTUAL_ENV="$root/build/python/venv"
  build
  export PYTHONPATH="${package:-$build_dir/python}"
}

# start_together NUMBER WARM_UP COMMAND...: that many of the command, all measured in the same $seconds, which begin
# WARM_UP seconds from now ($begin). They write into "$scratch/run.N.out" and "$scratch/run.N.err".
start_together() {
  wanted=$1
  begin=$(($(date +%s) + $2))
  shift 2
  rm -f "$scratch"/run.*
  number=0
  pids=
  while [ $number -lt "$wanted" ]; do
    number=$((number + 1))
    "$@" --seconds "$seconds" --begin-at "$begin" >"$scratch/run.$number.out" 2>"$scratch/run.$number.err" &
    pids="$pids $!"
  done
}

# await_together: fails if one of them has failed. Otherwise the last line of each is in "$scratch/runs".
await_together() {
  bad=
  for pid in $pids; do wait "$pid" || bad=yes; done
  pids=
  [ -z "$bad" ] && tail -q -n 1 "$scratch"/run.*.out >"$scratch/runs"
}

# run_rates: the images a second of each.
run_rates() {
  while read -r run; do printf '%s\n' "$run" | json_value images_per_second; done <"$scratch/runs"
}

slowest() {
  run_rates | sort -g | head -n 1
}

total() {
  run_rates | awk '{ sum += $1 } END { print sum }'
}

# The last core that we may use: the first one has the interrupts.
last_core() {
  taskset -pc $$ | sed 's/.*[-,: ]//'
}

# record NAME RATE: a line `ROUND NAME RATE` of "$scratch/results" for each run.
record() {
  echo "$round $1 $2" >>"$scratch/results"
}

# result NAME RATE: says it, too.
result() {
  record "$1" "$2"
  echo "round $round, $1: $2" >&2
}

# rates NAME: median, smallest and largest.
rates() {
  awk -v name="$1" '$2 == name { print $3 }' "$scratch/results" | median_min_max
}

# ratios OURS THEIRS: the same of the rounds' own ratios: the two runs of a round are neighbours in time.
ratios() {
  awk -v ours="$1" -v theirs="$2" '
    $2 == ours { a[$1] = $3 }
    $2 == theirs { b[$1] = $3 }
    END { for (r in a) if (r in b) printf "%.4f\n", a[r] / b[r] }' "$scratch/results" | median_min_max
}

images_json() {
  find "$images" -name '*.jpg' -printf '%s\n' |
    awk '{ n++; b += $1 } END { printf "{\"count\":%d,\"bytes_each\":%.0f}", n, b / n }'
}

# flat_json NAME VERSION SIZES IMAGES: one object of the rows `NAME MEDIAN SMALLEST LARGEST ...` on stdin. The other
# three are further members of it, or empty: the first two with a comma at the end, IMAGES with one in front.
flat_json() {
  awk -v name="$1" -v machine="$(machine_json)" -v version="$2" -v rounds="$rounds" -v seconds="$seconds" \
    -v sizes="$3" -v others="$others" -v images="$4" '
    function number(x) { return x == "-" ? "null" : x }
    BEGIN { printf "{\"benchmark\":\"%s\",\"machine\":{%s},%s\"rounds\":%s,\"seconds\":%s,%s" \
                   "\"others_percent\":%s%s", name, machine, version, rounds, seconds, sizes, others, images }
    { printf ",\"%s\":%s,\"%s_min\":%s,\"%s_max\":%s", $1, number($2), $1, number($3), $1, number($4) }
    END { print "}" }'
}
