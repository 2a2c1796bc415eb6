# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Finds everything, then reports everything that is missing at once, by its Debian name.
# Makes batchcast_private (what src/ compiles against), batchcast_cli_private with
# batchcast_serving_private (for src/cli and src/serving) and, where the tests
# are to be built, batchcast_test_private; sets BATCHCAST_TESTS_FOUND.

set(missing "")
macro(batchcast_need found debian_package)
  if(NOT ${found})
    list(APPEND missing ${debian_package})
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
batchcast_need(PkgConfig_FOUND pkg-config)
if(PkgConfig_FOUND)
  pkg_check_modules(libzmq QUIET IMPORTED_TARGET libzmq>=4.3)
endif()
batchcast_need(libzmq_FOUND libzmq3-dev)
if(libzmq_FOUND)
  # What libzmq itself was built with comes along too, and FindPkgConfig puts it elsewhere the
  # second time: everything would be compiled again. Its header needs none of it.
  pkg_get_variable(libzmq_include_dir libzmq includedir)
  set_target_properties(PkgConfig::libzmq PROPERTIES
    INTERFACE_COMPILE_OPTIONS "" INTERFACE_INCLUDE_DIRECTORIES "${libzmq_include_dir}")
  find_package(cppzmq QUIET)
  batchcast_need(cppzmq_FOUND cppzmq-dev)
endif()
# What the pipeline reads files with, and its SIMD dispatch. The static library needs them again
# where it is linked: batchcastConfig.cmake.in and batchcast.pc.in name the same modules.
set(BATCHCAST_PKG_MODULES libjpeg spng libwebp libarchive libhwy)
set(debian_of_libjpeg libjpeg62-turbo-dev)
set(debian_of_spng libspng-dev)
set(debian_of_libwebp libwebp-dev)
set(debian_of_libarchive libarchive-dev)
set(debian_of_libhwy libhwy-dev)
foreach(module IN LISTS BATCHCAST_PKG_MODULES)
  if(PkgConfig_FOUND)
    pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  endif()
  batchcast_need(${module}_FOUND ${debian_of_${module}})
endforeach()
find_path(BATCHCAST_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
mark_as_advanced(BATCHCAST_TOMLPLUSPLUS_INCLUDE_DIR)
batchcast_need(BATCHCAST_TOMLPLUSPLUS_INCLUDE_DIR libtomlplusplus-dev)
find_package(Boost 1.74 QUIET)
batchcast_need(Boost_FOUND libboost-dev)
find_package(nlohmann_json 3.11 QUIET)
batchcast_need(nlohmann_json_FOUND nlohmann-json3-dev)
find_path(BATCHCAST_XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(BATCHCAST_XXHASH_INCLUDE_DIR)
batchcast_need(BATCHCAST_XXHASH_INCLUDE_DIR libxxhash-dev)
if(BATCHCAST_BUILD_CLI)
  find_package(CLI11 QUIET)
  batchcast_need(CLI11_FOUND libcli11-dev)
  find_package(fmt QUIET)
  batchcast_need(fmt_FOUND libfmt-dev)
  find_package(spdlog QUIET)
  batchcast_need(spdlog_FOUND libspdlog-dev)
  # The screen of `batchcast top`: the wide version.
  if(PkgConfig_FOUND)
    pkg_check_modules(ncursesw QUIET IMPORTED_TARGET ncursesw)
  endif()
  batchcast_need(ncursesw_FOUND libncurses-dev)
  # The letters of `batchcast peek`, which are embedded (docs/decisions/0031).
  find_file(BATCHCAST_NARROW_FONT 6x13.pcf.gz PATH_SUFFIXES share/fonts/X11/misc)
  find_file(BATCHCAST_WIDE_FONT 12x13ja.pcf.gz PATH_SUFFIXES share/fonts/X11/misc)
  mark_as_advanced(BATCHCAST_NARROW_FONT BATCHCAST_WIDE_FONT)
  if(BATCHCAST_NARROW_FONT AND BATCHCAST_WIDE_FONT)
    set(label_font_FOUND TRUE)
  endif()
  batchcast_need(label_font_FOUND xfonts-base)
endif()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "batchcast lacks (by Debian's names): ${missing}\n"
                      "`sh cmake/bootstrap.sh` installs what is missing.")
endif()

set(BATCHCAST_TESTS_FOUND OFF)
if(BATCHCAST_BUILD_TESTS)
  find_package(Catch2 QUIET)
  batchcast_need(Catch2_FOUND catch2)
  find_package(rapidcheck QUIET)
  batchcast_need(rapidcheck_FOUND librapidcheck-dev)
  # Of the simulation: fibres, and a checker of weak memory.
  find_library(BATCHCAST_BOOST_CONTEXT boost_context)
  batchcast_need(BATCHCAST_BOOST_CONTEXT libboost-context-dev)
  find_path(BATCHCAST_RELACY_INCLUDE_DIR relacy/relacy.hpp)
  batchcast_need(BATCHCAST_RELACY_INCLUDE_DIR relacy-dev)
  mark_as_advanced(BATCHCAST_BOOST_CONTEXT BATCHCAST_RELACY_INCLUDE_DIR)
  list(JOIN missing " " missing)
  if(NOT missing)
    set(BATCHCAST_TESTS_FOUND ON)
  elseif(BATCHCAST_BUILD_TESTS STREQUAL "AUTO")
    message(STATUS "batchcast: tests are not built, they need (by Debian's names): ${missing}; "
                   "`sh cmake/bootstrap.sh tests` installs it")
  else()
    message(FATAL_ERROR "BATCHCAST_BUILD_TESTS is ON, but the tests need (by Debian's names): "
                        "${missing}\n`sh cmake/bootstrap.sh tests` installs what is missing.")
  endif()
endif()

# Headers only; xxHash is used with XXH_INLINE_ALL.
add_library(batchcast_xxhash INTERFACE)
target_include_directories(batchcast_xxhash SYSTEM INTERFACE ${BATCHCAST_XXHASH_INCLUDE_DIR})
add_library(batchcast_tomlplusplus INTERFACE)
target_include_directories(batchcast_tomlplusplus SYSTEM INTERFACE
  ${BATCHCAST_TOMLPLUSPLUS_INCLUDE_DIR})

add_library(batchcast_private INTERFACE)
target_include_directories(batchcast_private INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(batchcast_private INTERFACE batchcast_xxhash batchcast_tomlplusplus
  Boost::headers cppzmq nlohmann_json::nlohmann_json PkgConfig::libzmq Threads::Threads)
list(TRANSFORM BATCHCAST_PKG_MODULES PREPEND PkgConfig:: OUTPUT_VARIABLE batchcast_pkg_targets)
target_link_libraries(batchcast_private INTERFACE ${batchcast_pkg_targets})

if(BATCHCAST_BUILD_CLI)
  add_library(batchcast_serving_private INTERFACE)
  target_link_libraries(batchcast_serving_private INTERFACE fmt::fmt spdlog::spdlog)
  add_library(batchcast_cli_private INTERFACE)
  # Without the module's definitions, which other headers would see too.
  target_link_libraries(batchcast_cli_private INTERFACE
    CLI11::CLI11 batchcast_serving_private ${ncursesw_LINK_LIBRARIES})
  target_include_directories(batchcast_cli_private SYSTEM INTERFACE ${ncursesw_INCLUDE_DIRS})
endif()

if(BATCHCAST_TESTS_FOUND)
  add_library(batchcast_test_private INTERFACE)
  target_include_directories(batchcast_test_private INTERFACE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(batchcast_test_private INTERFACE
    batchcast batchcast_private Catch2::Catch2 rapidcheck)
endif()
