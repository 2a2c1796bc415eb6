# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# cmake -D FILES=NAME=PATH;… -D HEADER=HEADER -D NAMESPACE=NAMESPACE -D OUT=OUT.cpp
#   -P EmbedFiles.cmake
#
# Writes the source of a function `NAME()` for each file, which returns its bytes as a
# std::string_view. HEADER declares them in NAMESPACE.
cmake_minimum_required(VERSION 3.25)

set(text "// Made by EmbedFiles.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.+)$" _ "${file}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(LENGTH ${bytes} digits)
  math(EXPR count "${digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes ${bytes})
  string(APPEND text "\nstd::string_view ${name}() noexcept {\n"
    "  return {\"${bytes}\", ${count}};\n}\n")
endforeach()
file(WRITE ${OUT} "${text}\n}  // namespace ${NAMESPACE}\n")
