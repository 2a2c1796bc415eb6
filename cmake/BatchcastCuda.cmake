# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Finds CUDA's header for src/cuda. Nothing of CUDA is linked: libcuda.so.1 is looked for at run
# time, and the same library works on hosts with and without a GPU.

set(BATCHCAST_CUDA AUTO CACHE STRING "Rings on GPUs: ON, OFF or AUTO (where cuda.h is)")
set_property(CACHE BATCHCAST_CUDA PROPERTY STRINGS AUTO ON OFF)

# batchcast_find_cuda(): sets BATCHCAST_WITH_CUDA, and BATCHCAST_CUDA_INCLUDE_DIR and
# BATCHCAST_NVCC (both cached), the latter maybe NOTFOUND.
function(batchcast_find_cuda)
  set(BATCHCAST_WITH_CUDA OFF)
  if(NOT BATCHCAST_CUDA)
    message(STATUS "batchcast: without CUDA, as BATCHCAST_CUDA says")
    return(PROPAGATE BATCHCAST_WITH_CUDA)
  endif()
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
  set(why_not "there is no cuda.h in CUDA_HOME, /usr/local/cuda or the system's folders")
  set(version 0)
  if(EXISTS ${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h)
    file(STRINGS ${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h line REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" version "${line}")
    set(why_not "${BATCHCAST_CUDA_INCLUDE_DIR}/cuda.h is of version ${version}, 11040 is needed")
  endif()
  if(version GREATER_EQUAL 11040)
    set(BATCHCAST_WITH_CUDA ON)
    math(EXPR major "${version} / 1000")
    math(EXPR minor "${version} % 1000 / 10")
    message(STATUS "batchcast: CUDA ${major}.${minor} in ${BATCHCAST_CUDA_INCLUDE_DIR}")
  elseif(BATCHCAST_CUDA STREQUAL "AUTO")
    message(STATUS "batchcast: without CUDA: ${why_not}")
  else()
    message(FATAL_ERROR "BATCHCAST_CUDA is ${BATCHCAST_CUDA}, but ${why_not}")
  endif()
  return(PROPAGATE BATCHCAST_WITH_CUDA)
endfunction()

batchcast_find_cuda()

# What is compiled into the library: either what works with a GPU, or what says that it cannot.
if(BATCHCAST_WITH_CUDA)
  file(GLOB batchcast_gpu_sources CONFIGURE_DEPENDS src/cuda/*.cpp src/gpu/*.cpp)
else()
  file(GLOB batchcast_gpu_sources CONFIGURE_DEPENDS src/gpu_absent/*.cpp)
endif()

# batchcast_link_cuda(TARGET): what those sources need.
function(batchcast_link_cuda target)
  if(BATCHCAST_WITH_CUDA)
    target_include_directories(${target} SYSTEM PRIVATE ${BATCHCAST_CUDA_INCLUDE_DIR})
    # dlopen(): in libc itself since glibc 2.34.
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    include(BatchcastKernels)
    batchcast_add_kernels(${target})
  endif()
endfunction()
