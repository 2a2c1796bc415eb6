# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What a build takes of CUDA's toolkit: nvcc for the kernels of src/cuda, and cuda.h to compare
# include/batchcast/cuda/driver_api.hpp with. Rings on GPUs need neither: the driver's functions
# are declared there, and libcuda.so.1 is looked for at run time, so the same library works on
# hosts with and without a GPU.

set(BATCHCAST_CUDA AUTO CACHE STRING "CUDA kernels: ON, OFF or AUTO (where CUDA's toolkit is)")
set_property(CACHE BATCHCAST_CUDA PROPERTY STRINGS AUTO ON OFF)

# batchcast_find_cuda(): looks for the toolkit. Sets BATCHCAST_CUDA_INCLUDE_DIR and BATCHCAST_NVCC
# (both cached), each maybe NOTFOUND; and BATCHCAST_CUDA_WHY_NOT, empty where cuda.h can be used.
function(batchcast_find_cuda)
  set(roots "")
  foreach(root IN ITEMS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" "${CUDAToolkit_ROOT}")
    if(root)
      list(APPEND roots ${root})
    endif()
  endforeach()
  if(CMAKE_CUDA_COMPILER)
    cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH bin)
    list(APPEND roots ${bin}/..)
  endif()
  find_path(BATCHCAST_CUDA_INCLUDE_DIR cuda.h HINTS ${roots} PATHS /usr/local/cuda /opt/cuda
            PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
  find_program(BATCHCAST_NVCC nvcc HINTS ${CMAKE_CUDA_COMPILER} ${roots}
               PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
  mark_as_advanced(BATCHCAST_CUDA_INCLUDE_DIR BATCHCAST_NVCC)
  set(BATCHCAST_CUDA_WHY_NOT
      "there is no cuda.h in CUDA_HOME, /usr/local/cuda or the system's folders")
  if(EXISTS ${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h)
    file(STRINGS ${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h line REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" version "${line}")
    set(BATCHCAST_CUDA_WHY_NOT
        "${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h is of version ${version}, 11040 is needed")
    if(version GREATER_EQUAL 11040)
      set(BATCHCAST_CUDA_WHY_NOT "")
      math(EXPR major "${version} / 1000")
      math(EXPR minor "${version} % 1000 / 10")
      message(STATUS "batchcast: CUDA ${major}.${minor} in ${BATCHCAST_CUDA_INCLUDE_DIR}")
    endif()
  endif()
  return(PROPAGATE BATCHCAST_CUDA_WHY_NOT)
endfunction()

set(BATCHCAST_WITH_CUDA OFF)
if(BATCHCAST_CUDA)
  batchcast_find_cuda()
  if(NOT BATCHCAST_CUDA_WHY_NOT)
    set(BATCHCAST_WITH_CUDA ON)
  elseif(BATCHCAST_CUDA STREQUAL "AUTO")
    message(STATUS "batchcast: without CUDA kernels: ${BATCHCAST_CUDA_WHY_NOT}")
  else()
    message(FATAL_ERROR "BATCHCAST_CUDA is ${BATCHCAST_CUDA}, but ${BATCHCAST_CUDA_WHY_NOT}")
  endif()
else()
  message(STATUS "batchcast: without CUDA kernels, as BATCHCAST_CUDA says")
endif()

include(BatchcastKernels)

# batchcast_check_driver_api(TARGET): builds TARGET only where cuda/driver_api.hpp says what cuda.h
# does. This is the only source that sees cuda.h.
function(batchcast_check_driver_api target)
  if(BATCHCAST_WITH_CUDA)
    add_library(batchcast_driver_api_check OBJECT src/cuda/driver_api_check.cpp)
    batchcast_target(batchcast_driver_api_check)
    target_include_directories(batchcast_driver_api_check PRIVATE
      ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(batchcast_driver_api_check SYSTEM PRIVATE
      ${BATCHCAST_CUDA_INCLUDE_DIR})
    add_dependencies(${target} batchcast_driver_api_check)
  endif()
endfunction()
