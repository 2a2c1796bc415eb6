# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the scripts that measure on images share; sourced after common.sh.
# Options: --images DIR (made there if it is not), --seconds S (of each run), --peers DIR.
# shellcheck shell=sh disable=SC2034,SC2154 # what is set here is read by the scripts, and the reverse

: "${root:?}"
images=
seconds=10
peers=$root/build/peers

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

# The last core that we may use: the first one has the interrupts.
last_core() {
  taskset -pc $$ | sed 's/.*[-,: ]//'
}

# The scripts write a line `ROUND NAME RATE` for each run to "$scratch/results".
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
