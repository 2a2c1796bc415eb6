#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Fills a folder with what batchcast and its tests need and a bare machine lacks: headers, libraries
# with what they need at run time, and a pkg-config. Run it on Debian 12, take the folder along, and
# say there `cmake -DCMAKE_PREFIX_PATH=FOLDER`: nothing else has to be installed but g++ and CMake.
# Python's package is made with nanobind, whose wheel is in FOLDER/wheels: tests/gpu.sh finds it.
# The other machine has to have the same processor family and a C library no older than MANIFEST says.
#   sh cmake/bundle.sh [FOLDER] [--peers [PYTHON_VERSION]]
# FOLDER is build/bundle unless given. --peers adds the wheels of TensorSocket and what it needs
# besides torch, for benchmarks/gpu.sh; from PyPI, for Python 3.12 unless told otherwise.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=
peers=
python_version=3.12

die() {
  echo "bundle: $*" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --peers)
      peers=yes
      case ${2:-} in [0-9]*) python_version=$2 && shift ;; esac
      ;;
    -*) die "unknown option $1 (--peers)" ;;
    *) folder=$1 ;;
  esac
  shift
done
folder=${folder:-$root/build/bundle}

[ -z "$peers" ] || command -v pip3 >/dev/null || die "--peers needs pip3 (Debian: python3-pip)"
sh "$root/cmake/bootstrap.sh" bundle
arch=$(c++ -print-multiarch)
libs=/usr/lib/$arch
# A folder that is not ours is not emptied.
if [ -e "$folder" ]; then
  grep -qs 'by cmake/bundle.sh' "$folder/MANIFEST" "$folder/.taken" || [ -z "$(ls -A "$folder")" ] ||
    die "$folder exists and is no bundle"
  rm -rf "$folder"
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
mkdir -p "$folder/include" "$folder/lib/pkgconfig" "$folder/lib/cmake" "$folder/bin" "$folder/libexec"
taken=$folder/.taken
echo "what is copied, by cmake/bundle.sh:" >"$taken"  # an unfinished bundle is known by it, too

# ---- headers

# headers PATH...: relative to /usr/include, or to its folder of this architecture.
headers() {
  for path in "$@"; do
    from=/usr/include
    [ -e "$from/$path" ] || from=/usr/include/$arch
    [ -e "$from/$path" ] || die "no header $path"
    mkdir -p "$folder/include/$(dirname "$path")"
    cp -RL "$from/$path" "$folder/include/$(dirname "$path")/"
    echo "$from/$path" >>"$taken"
  done
}

headers zmq.h zmq_utils.h zmq.hpp zmq_addon.hpp nlohmann toml++ CLI fmt spdlog xxhash.h xxh3.h hwy \
  jpeglib.h jmorecfg.h jerror.h jconfig.h spng.h webp archive.h archive_entry.h \
  curses.h ncurses_dll.h unctrl.h \
  catch2 rapidcheck rapidcheck.h

# Of Boost only what its headers that are included here include in turn; its configuration whole,
# since another compiler takes other parts of it.
boost_headers() {
  find "$root/src" "$root/include" "$root/tests" -name '*.[ch]pp' -exec \
    sed -n 's/^ *\(#include <boost\/[^>]*>\).*/\1/p' {} + | sort -u >"$folder/.boost.cpp"
  echo '#include <boost/version.hpp>' >>"$folder/.boost.cpp"
  c++ -std=c++20 -M "$folder/.boost.cpp" | tr ' \\' '\n\n' | grep '^/usr/include/boost/'
  find /usr/include/boost/config -type f
  rm "$folder/.boost.cpp"
}
boost_headers | sort -u | sed 's|^/usr/include/||' >"$folder/.boost"
(cd /usr/include && tar -cf - -T "$folder/.boost") | tar -xf - -C "$folder/include"
echo /usr/include/boost/version.hpp >>"$taken"
rm "$folder/.boost"

# ---- the font that the command embeds

mkdir -p "$folder/share/fonts/X11/misc"
for font in 6x13 12x13ja; do
  file=/usr/share/fonts/X11/misc/$font.pcf.gz
  cp "$file" "$folder/share/fonts/X11/misc/"
  echo "$file" >>"$taken"
done

# ---- libraries

# needed FILE: the libraries that it is loaded with, less those of every C++ toolchain.
needed() {
  ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' |
    grep -Ev '/(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+)[-.]'
}

# library NAME...: shared, with all that it needs.
library() {
  for name in "$@"; do
    file=$(readlink -f "$libs/lib$name.so" || true)
    # It may be a text for the linker, as ncurses' is.
    objdump -p "$file" >/dev/null 2>&1 ||
      file=$(find "$libs" /lib/"$arch" -maxdepth 1 -name "lib$name.so.*" | sort | head -n 1)
    [ -f "$file" ] || die "no library $name"
    soname=$(objdump -p "$file" | awk '$1 == "SONAME" { print $2 }')
    cp -L "$file" "$folder/lib/$soname"
    ln -sf "$soname" "$folder/lib/lib$name.so"
    echo "$file" >>"$taken"
    for other in $(needed "$file"); do
      [ -e "$folder/lib/$(basename "$other")" ] || cp -L "$other" "$folder/lib/"
      echo "$other" >>"$taken"
    done
  done
}

library zmq jpeg spng webp hwy fmt spdlog ncursesw tinfo z zstd
# Shared, it would bring ICU's 30 MB for formats that nobody reads here.
cp "$libs/libarchive.a" "$libs/librapidcheck.a" "$folder/lib/"
echo "$libs/libarchive.a" >>"$taken"
echo "$libs/librapidcheck.a" >>"$taken"

# ---- pkg-config

# module NAME LIBS: with the version that is installed here.
# With DT_RPATH rather than DT_RUNPATH the libraries find each other without LD_LIBRARY_PATH.
module() {
  cat >"$folder/lib/pkgconfig/$1.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: $1
Description: from the Debian package
Version: $(pkg-config --modversion "$1")
Libs: -L\${libdir} $2 -Wl,--disable-new-dtags -Wl,-rpath-link,\${libdir}
Cflags: -I\${includedir}
END
}

module libzmq -lzmq
module libjpeg -ljpeg
module spng -lspng
module libwebp -lwebp
module libhwy -lhwy
module libarchive "-larchive -lzstd -lz"
module ncursesw "-lncursesw -ltinfo"

pkgconf=$(readlink -f "$(command -v pkg-config)")
cp "$pkgconf" "$folder/libexec/pkgconf"
echo "$pkgconf" >>"$taken"
for other in $(needed "$pkgconf"); do
  cp -L "$other" "$folder/libexec/"
  echo "$other" >>"$taken"
done
cat >"$folder/bin/pkg-config" <<'END'
#!/bin/sh
# Knows the modules of this folder, wherever that stands.
here=$(cd "$(dirname "$0")/.." && pwd)
export PKG_CONFIG_LIBDIR="$here/lib/pkgconfig" PKG_CONFIG_PATH=
LD_LIBRARY_PATH=$here/libexec exec "$here/libexec/pkgconf" "$@"
END
chmod +x "$folder/bin/pkg-config"

# ---- CMake packages

# package NAME TARGET VERSION [PROPERTY VALUE]...: one INTERFACE target over include/.
package() {
  name=$1 target=$2 version=$3
  shift 3
  dir=$folder/lib/cmake/$name
  mkdir -p "$dir"
  {
    echo "get_filename_component(_prefix \"\${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)"
    echo "if(NOT TARGET $target)"
    echo "  add_library($target INTERFACE IMPORTED)"
    echo "  set_target_properties($target PROPERTIES"
    echo "    INTERFACE_INCLUDE_DIRECTORIES \"\${_prefix}/include\""
    while [ $# -gt 0 ]; do
      echo "    $1 \"$2\""
      shift 2
    done
    echo "  )"
    echo "endif()"
  } >"$dir/${name}Config.cmake"
  {
    echo "set(PACKAGE_VERSION $version)"
    echo "if(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)"
    echo "  set(PACKAGE_VERSION_COMPATIBLE TRUE)"
    echo "endif()"
  } >"$dir/${name}ConfigVersion.cmake"
}

# version PACKAGE: the upstream part of an installed Debian package's.
version() { dpkg-query -W -f='${Version}' "$1" | sed 's/^[0-9]*://; s/[-+~].*//'; }

package cppzmq cppzmq "$(version cppzmq-dev)"
package nlohmann_json nlohmann_json::nlohmann_json "$(version nlohmann-json3-dev)"
package CLI11 CLI11::CLI11 "$(version libcli11-dev)"
package fmt fmt::fmt "$(version libfmt-dev)" INTERFACE_LINK_LIBRARIES "\${_prefix}/lib/libfmt.so"
package spdlog spdlog::spdlog "$(version libspdlog-dev)" \
  INTERFACE_COMPILE_DEFINITIONS "SPDLOG_SHARED_LIB;SPDLOG_COMPILED_LIB;SPDLOG_FMT_EXTERNAL" \
  INTERFACE_LINK_LIBRARIES "\${_prefix}/lib/libspdlog.so;\${_prefix}/lib/libfmt.so"
package Catch2 Catch2::Catch2 "$(version catch2)"
package rapidcheck rapidcheck 0.0 INTERFACE_LINK_LIBRARIES "\${_prefix}/lib/librapidcheck.a"
# Catch2's has a module beside it, which makes tests of ctest of its cases.
cp /usr/lib/cmake/Catch2/Catch.cmake /usr/lib/cmake/Catch2/CatchAddTests.cmake "$folder/lib/cmake/Catch2/"
echo 'list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")' \
  >>"$folder/lib/cmake/Catch2/Catch2Config.cmake"

# ---- wheels: what Python's package is made with, and the peer of benchmarks/gpu.sh

pip3 download --quiet --disable-pip-version-check --no-deps --only-binary=:all: -d "$folder/wheels" 'nanobind>=3.1' ||
  echo "bundle: nanobind is left out: pip3 (Debian: python3-pip) could not fetch it" >&2
if [ -n "$peers" ]; then
  pip3 download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp \
    --python-version "$python_version" --platform manylinux_2_28_"$(uname -m)" \
    --platform manylinux_2_17_"$(uname -m)" --platform manylinux2014_"$(uname -m)" \
    -d "$folder/wheels" -r "$root/benchmarks/peers/tensorsocket.txt"
fi

# ---- what it took

# owner FILE: the package that a file is of; one in /lib may be known by its place in /usr/lib.
owner() {
  { dpkg -S "$1" || dpkg -S "/usr$1" || dpkg -S "$(readlink -f "$1")"; } 2>/dev/null |
    sed -n '1s/:.*//p'
}

# oldest PREFIX: the newest version of a library's symbols that anything here asks for.
oldest() {
  find "$folder/lib" "$folder/libexec" -type f \( -name '*.so*' -o -name pkgconf \) -exec objdump -T {} + |
    grep -o "$1_[0-9.]*[0-9]" | sed 's/.*_//' | sort -Vu | tail -n 1
}

{
  echo "Built on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release) for $arch by cmake/bundle.sh."
  echo "Where it is used: glibc $(oldest GLIBC) or newer, and a libstdc++ with GLIBCXX_$(oldest GLIBCXX)."
  echo
  grep '^/' "$taken" | sort -u | while read -r file; do owner "$file"; done | sort -u |
    while read -r package; do dpkg-query -W -f='${binary:Package} ${Version}\n' "$package" | head -n 1; done
  [ ! -d "$folder/wheels" ] || (cd "$folder/wheels" && ls)
} >"$folder/MANIFEST"
rm "$taken"

cat "$folder/MANIFEST"
echo
echo "$folder: $(find "$folder" -type f | wc -l) files, $(du -sm --apparent-size "$folder" | cut -f 1) MB," \
  "$(tar -czf - -C "$folder" . | wc -c | awk '{ printf "%.1f", $1 / 1e6 }') MB as a tar.gz"
