# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What BATCHCAST_BUILD_PRODUCER=OFF asks for: batchcast::consumer, which needs Boost's headers, and
# batchcast::torch with BATCHCAST_TORCH=ON. Nothing else is looked for, and nothing is compiled.

foreach(part IN ITEMS BUILD_CLI BUILD_EXAMPLES BUILD_BENCHMARKS BUILD_TESTS PYTHON)
  if(BATCHCAST_${part} AND NOT BATCHCAST_${part} STREQUAL "AUTO")
    message(FATAL_ERROR "BATCHCAST_${part} is ON, and BATCHCAST_BUILD_PRODUCER is OFF: it needs "
                        "the library of producers.")
  endif()
endforeach()
set(BATCHCAST_PYTHON OFF)
set(BATCHCAST_TESTS_FOUND OFF)
if(BATCHCAST_TORCH STREQUAL "AUTO")
  set(BATCHCAST_TORCH OFF)
endif()
# No library has to link with it.
set(batchcast_TAKES_OLD_ABI ON)

find_package(Boost 1.74 QUIET)
if(NOT Boost_FOUND)
  message(FATAL_ERROR "batchcast lacks (by Debian's names): libboost-dev")
endif()
