# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# batchcast_room(NAME [DEPENDS ROOM...] [PACKAGES TARGET...] [SOURCES FILE...])
#
# A room of the library: the target batchcast_room_NAME with the sources of src/NAME, which sees
# what the rooms and packages that it names show. Without sources it is headers of include/batchcast
# only. batchcast_rooms lists those that have objects; the property batchcast_room_lines has a line
# for each room with its DEPENDS and objects, which tests/tidy/room_links.py reads.

# What all of them compile with.
add_library(batchcast_sources INTERFACE)
target_compile_definitions(batchcast_sources INTERFACE BATCHCAST_COMPILED)
target_include_directories(batchcast_sources INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_link_libraries(batchcast_sources INTERFACE Threads::Threads)

set(batchcast_rooms "")

# batchcast_compile_together(TARGET FILE...): with BATCHCAST_TOGETHER a dozen files as one, whose
# common headers are then read and instrumented once. Other builds compile file by file, which is
# quicker while one of them is edited, and shows what includes too little.
function(batchcast_compile_together target)
  if(NOT BATCHCAST_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  # Types of unnamed namespaces are one file's own here too, and names of one file shadow nothing of
  # another.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow)
  # Vector code includes itself again for each instruction set.
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} again REGEX "hwy/foreach_target\\.h")
    if(again)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

function(batchcast_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "DEPENDS;PACKAGES;SOURCES")
  string(REPLACE "/" "_" target batchcast_room_${name})
  set(objects "")
  if(room_SOURCES)
    set(objects $<TARGET_OBJECTS:${target}>)
  endif()
  string(REPLACE ";" " " needs "${room_DEPENDS}")
  set_property(GLOBAL APPEND_STRING PROPERTY batchcast_room_lines
               "${name}\t${needs}\t${objects}\n")
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
  # Each file of src/compiled is a room's, which tests/tidy/room_links.py tells by its name.
  if(BATCHCAST_SANITIZE OR NOT name STREQUAL "compiled")
    batchcast_compile_together(${target} ${room_SOURCES})
  endif()
  list(APPEND batchcast_rooms ${target})
  set(batchcast_rooms ${batchcast_rooms} PARENT_SCOPE)
endfunction()
