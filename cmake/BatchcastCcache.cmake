# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# Where ccache is, what was compiled before is not compiled again. A launcher that the user named
# stays. With precompiled headers ccache wants to be told that their times do not matter, and g++
# what they consist of.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(BATCHCAST_CCACHE ccache)
  mark_as_advanced(BATCHCAST_CCACHE)
  if(BATCHCAST_CCACHE)
    set(sloppiness pch_defines,time_macros)
    if(DEFINED ENV{CCACHE_SLOPPINESS})
      string(PREPEND sloppiness $ENV{CCACHE_SLOPPINESS},)
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=${sloppiness} ${BATCHCAST_CCACHE})
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endif()
