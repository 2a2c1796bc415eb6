# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# cmake -D PRESETS=NAMES -D FOLDER=FOLDER -D OUT=presets.cpp -P EmbedPresets.cmake
#
# A preset that begins with `extends = "OTHER"` is that one, but for the lines that follow: another
# `mode`, other `stages`, and what else stands before them. Among its stages, a name alone is the
# other's stage of that name. They are embedded whole.
cmake_minimum_required(VERSION 3.25)

# Sets `text`. Lists of CMake's own would take brackets apart: texts are matched as they are.
function(read_preset name)
  file(READ ${FOLDER}/${name}.toml text)
  if(NOT text MATCHES "^extends = \"([^\"]+)\"(\n.*)$")
    set(text "${text}" PARENT_SCOPE)
    return()
  endif()
  set(own "${CMAKE_MATCH_2}")
  read_preset(${CMAKE_MATCH_1})
  if(own MATCHES "^\nmode = [^\n]*")
    set(mode "${CMAKE_MATCH_0}")
    string(REGEX REPLACE "\nmode = [^\n]*" "${mode}" text "${text}")
    string(REPLACE "${mode}" "" own "${own}")
  endif()
  while(own MATCHES "\n  \"([^\"]+)\",\n")
    set(line "${CMAKE_MATCH_0}")
    set(stage "${CMAKE_MATCH_1}")
    if(NOT text MATCHES "\n  { stage = \"${stage}\"[^\n]*(\n    [^\n]*|\n  \\][^\n]*)*\n")
      message(FATAL_ERROR "${name}.toml: what it extends has no stage ${stage}.")
    endif()
    string(REPLACE "${line}" "${CMAKE_MATCH_0}" own "${own}")
  endwhile()
  if(own MATCHES "stages = ")
    string(REGEX REPLACE "\nstages = \\[\n.*\n\\]\n" "@stages@" text "${text}")
    string(REPLACE "@stages@" "${own}" text "${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

set(entries "")
set(count 0)
foreach(name IN LISTS PRESETS)
  read_preset(${name})
  string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "// Made by EmbedPresets.cmake.\n#include \"data/recipe/presets.hpp\"\n\n\
#include <array>\n\nnamespace batchcast::inline v0_1::detail {\n\n\
std::span<const Preset> presets() noexcept {\n\
  static constexpr std::array<Preset, ${count}> all = {{\n${entries}  }};\n  return all;\n}\n\n\
}  // namespace batchcast::inline v0_1::detail\n")
