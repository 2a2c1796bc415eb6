# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Finds what `batchcast metrics` is made of, and sets metrics_WHY_NOT where it is not there.
# batchcast_add_metrics() makes batchcast_metrics: what src/metrics has, with the page embedded.

# AUTO makes it where both libraries are; ON insists on them.
set(BATCHCAST_METRICS AUTO CACHE STRING "Make `batchcast metrics`: ON, OFF or AUTO")
set_property(CACHE BATCHCAST_METRICS PROPERTY STRINGS AUTO ON OFF)

set(metrics_WHY_NOT "")
if(NOT BATCHCAST_METRICS)
  set(metrics_WHY_NOT "BATCHCAST_METRICS=OFF")
  return()
endif()
foreach(module prometheus-cpp-core libmicrohttpd)
  pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  if(NOT ${module}_FOUND)
    string(REPLACE "-core" "" package ${module})
    string(APPEND metrics_WHY_NOT " ${package}-dev")
  endif()
endforeach()

if(metrics_WHY_NOT)
  string(PREPEND metrics_WHY_NOT "it needs (by Debian's names)")
  if(NOT BATCHCAST_METRICS STREQUAL "AUTO")
    message(FATAL_ERROR "batchcast metrics cannot be made: ${metrics_WHY_NOT}")
  endif()
endif()

function(batchcast_add_metrics)
  set(folder ${PROJECT_SOURCE_DIR}/src/metrics)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake)
  set(page ${PROJECT_BINARY_DIR}/page/page.cpp)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D OUT=${page} -P ${embed}
    DEPENDS ${folder}/page.html ${folder}/page.css ${folder}/page.js ${embed}
    VERBATIM COMMENT "Embedding the page")
  add_library(batchcast_metrics STATIC
    src/metrics/consumer_series.cpp src/metrics/history.cpp src/metrics/http_server.cpp
    src/metrics/listening.cpp src/metrics/page_data.cpp src/metrics/site.cpp
    src/metrics/stream_series.cpp ${page})
  batchcast_target(batchcast_metrics)
  target_compile_options(batchcast_metrics PRIVATE $<$<CONFIG:Release>:-O1>)
  # Without the modules' own compile options, which other headers would see too.
  target_include_directories(batchcast_metrics SYSTEM PUBLIC ${prometheus-cpp-core_INCLUDE_DIRS})
  target_link_libraries(batchcast_metrics
    PRIVATE batchcast_private
    PUBLIC batchcast ${prometheus-cpp-core_LINK_LIBRARIES} ${libmicrohttpd_LINK_LIBRARIES})
endfunction()
