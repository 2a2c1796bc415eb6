# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# batchcast_room(NAME [DEPENDS ROOM...] [PACKAGES TARGET...] [SOURCES FILE...])
#
# A room of the library: the target batchcast_room_NAME with the sources of src/NAME, which sees
# what the rooms and packages that it names show. Without sources it is headers of include/batchcast
# only. batchcast_rooms lists those that have objects.

# What all of them compile with.
add_library(batchcast_sources INTERFACE)
target_compile_definitions(batchcast_sources INTERFACE BATCHCAST_COMPILED)
target_include_directories(batchcast_sources INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_link_libraries(batchcast_sources INTERFACE Threads::Threads)

set(batchcast_rooms "")

function(batchcast_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "DEPENDS;PACKAGES;SOURCES")
  string(REPLACE "/" "_" target batchcast_room_${name})
  list(TRANSFORM room_DEPENDS REPLACE "/" "_")
  list(TRANSFORM room_DEPENDS PREPEND batchcast_room_)
  if(NOT room_SOURCES)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${room_DEPENDS} ${room_PACKAGES})
    return()
  endif()
  list(TRANSFORM room_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_library(${target} OBJECT ${room_SOURCES})
  batchcast_target(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target}
    PUBLIC batchcast_sources ${room_DEPENDS} PRIVATE ${room_PACKAGES})
  if(BATCHCAST_SANITIZE)
    # A quarter of the time goes into reading these. The release build reads them file by file, and
    # shows what includes too little.
    if(NOT batchcast_rooms)
      target_precompile_headers(${target} PRIVATE
        <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex> <optional> <set>
        <span> <string> <thread> <variant> <vector>)
    else()
      list(GET batchcast_rooms 0 first)
      target_precompile_headers(${target} REUSE_FROM ${first})
    endif()
  endif()
  list(APPEND batchcast_rooms ${target})
  set(batchcast_rooms ${batchcast_rooms} PARENT_SCOPE)
endfunction()
