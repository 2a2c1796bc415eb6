# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# An AddressSanitizer that takes no locks around fork(): tests/fork_with_asan.cpp does it.
set(batchcast_forks_with_asan OFF)
if(BATCHCAST_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  set(batchcast_forks_with_asan ON)
endif()

# What every target of this project is compiled with. Nothing of it is exported.
function(batchcast_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
  # A contracted multiplication and addition rounds once instead of twice: samples would differ
  # between machines.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # g++ 12 takes `"text" + std::string` for overlapping copies, and a vector that grows in a loop
  # for one that overflows.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow>)
  if(BATCHCAST_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(BATCHCAST_SANITIZE)
    # Instrumented standard headers look uninitialized to g++ 12.
    target_compile_options(${target} PRIVATE
      -fsanitize=${BATCHCAST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
      -Wno-maybe-uninitialized)
    if(BATCHCAST_SANITIZE MATCHES "undefined")
      # AddressSanitizer sees most of what these would, and they take a seventh of the compiler's
      # time.
      target_compile_options(${target} PRIVATE -fno-sanitize=null,object-size,vptr)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${BATCHCAST_SANITIZE})
    if(batchcast_forks_with_asan)
      # Programs have the sanitizer's runtime inside; what they load takes it from them.
      target_link_options(${target} PRIVATE -static-libasan)
    endif()
  endif()
endfunction()
