#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Installs what building batchcast needs and this Debian 12 machine lacks; nothing else. libtorch is
# Debian's unless the active python3 has one; tests use Debian's and PyPI's, see tests/torch/setup.sh,
# and several Pythons, see tests/python/setup.sh. With `packages` it prints the names of the packages, and
# installs nothing.
#   sh cmake/bootstrap.sh [packages] [quickstart] [python] [tests] [operate] [benchmarks] [peers] [bundle]
set -eu

packages="g++ cmake ninja-build pkg-config
          libboost-dev libzmq3-dev cppzmq-dev nlohmann-json3-dev libxxhash-dev
          libjpeg62-turbo-dev libspng-dev libwebp-dev libarchive-dev libhwy-dev libtomlplusplus-dev
          libcli11-dev libfmt-dev libspdlog-dev libncurses-dev xfonts-base
          prometheus-cpp-dev libmicrohttpd-dev"

# Whether the active python3 has a libtorch of its own that cmake/BatchcastTorch.cmake will take.
python_has_libtorch() {
  torch=$(python3 -c "from importlib.util import find_spec
print(find_spec('torch').submodule_search_locations[0])" 2>/dev/null) || return 1
  case $torch in /usr/lib/python3/*) return 1 ;; esac
  [ -e "$torch/lib/libtorch_cpu.so" ] &&
    [ -e "$torch/include/torch/csrc/api/include/torch/version.h" ] &&
    grep -q '3c105Error.*NSt7__cxx1112basic_string' "$torch/lib/libc10.so"
}

libtorch=libtorch-dev
! python_has_libtorch || libtorch=""
tests=no
only_prints=no
for group in "$@"; do
  case $group in
    packages) only_prints=yes ;;
    quickstart) packages="$packages dataset-fashion-mnist $libtorch" ;;
    # What `pip install .` and cmake/wheel.sh need; the rest comes from PyPI.
    python) packages="$packages python3-dev python3-venv libzstd-dev zlib1g-dev" ;;
    tests)
      tests=yes
      packages="$packages catch2 librapidcheck-dev libboost-context-dev relacy-dev spin
                clang-format-14 clang-14 libclang-rt-14-dev tmux
                dataset-fashion-mnist python3-numpy python3-pil python3-torchvision zstd
                libtorch-dev libgloo-dev python3-venv python3-dev python3-pytest
                libzstd-dev zlib1g-dev"
      ;;
    # What the long run of the tests asks metrics and the page with.
    operate)
      packages="$packages prometheus chromium chromium-driver python3-selenium fonts-dejavu-core"
      ;;
    benchmarks)
      packages="$packages libiceoryx-posh-dev iceoryx libopencv-dev libbenchmark-dev
                python3-numpy python3-pil dataset-fashion-mnist $libtorch"
      ;;
    bundle) packages="$packages catch2 librapidcheck-dev libboost-context-dev relacy-dev binutils" ;;
    peers) packages="$packages python3-venv ffmpeg" ;;
    *)
      echo "usage: sh cmake/bootstrap.sh [packages]" \
        "[quickstart] [python] [tests] [operate] [benchmarks] [peers] [bundle]" >&2
      exit 2
      ;;
  esac
done

if [ $only_prints = yes ]; then
  # shellcheck disable=SC2086
  printf '%s\n' $packages
  exit
fi

if ! command -v dpkg-query >/dev/null; then
  echo "bootstrap: this is not a Debian system. Install what these Debian packages hold:" >&2
  # shellcheck disable=SC2086
  echo " " $packages >&2
  exit 1
fi

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
  [ "$status" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
  if [ "$(id -u)" -eq 0 ]; then
    as_root=""
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  else
    echo "bootstrap: this needs root. Run this line, then the same command again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
  fi
  echo "bootstrap: installing$missing" >&2
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
  $apt update >&2
  # shellcheck disable=SC2086
  $apt install -y --no-install-recommends $missing >&2
fi
if [ $tests = yes ]; then
  # The second libtorch of the tests, which no distribution has; and Pythons, one of them with it.
  sh "$(dirname "$0")/../tests/torch/setup.sh"
  sh "$(dirname "$0")/../tests/python/setup.sh"
  sh "$(dirname "$0")/../tests/python/setup_ray.sh"
fi
