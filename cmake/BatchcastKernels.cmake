# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# The library's own CUDA kernels as a C++ source with their machine code in it: for sm_80 and sm_90,
# and as PTX for what comes after. They are loaded through the driver: no CUDA runtime is linked.
# Uncompressed: a driver that is older than the toolkit may not know how that compresses.

# A contracted product and sum would round once instead of twice, which is not what the CPU does.
set(batchcast_nvcc_language
    -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr
    -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src)
set(batchcast_nvcc_flags
    ${batchcast_nvcc_language} -fatbin -no-compress
    -gencode arch=compute_80,code=sm_80
    -gencode arch=compute_90,code=sm_90
    -gencode arch=compute_90,code=compute_90)
set(batchcast_kernel ${PROJECT_SOURCE_DIR}/src/cuda/finish_kernel.cu)

# Sets BATCHCAST_KERNELS: whether BATCHCAST_NVCC compiles them. An nvcc may be too old for C++20, or
# for this machine's compiler, and a build without kernels is better than none.
function(batchcast_try_nvcc)
  if(NOT BATCHCAST_WITH_CUDA)
    set(BATCHCAST_KERNELS "" CACHE INTERNAL "")
    return()
  endif()
  if(NOT BATCHCAST_NVCC)
    set(why_not "there is no nvcc")
  elseif(NOT BATCHCAST_KERNELS OR NOT BATCHCAST_KERNELS STREQUAL BATCHCAST_NVCC)
    set(image ${PROJECT_BINARY_DIR}/cuda/try.fatbin)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cuda)
    execute_process(COMMAND ${BATCHCAST_NVCC} ${batchcast_nvcc_flags} -o ${image}
                            ${batchcast_kernel}
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result EQUAL 0)
      set(BATCHCAST_KERNELS ${BATCHCAST_NVCC} CACHE INTERNAL "The nvcc that compiles the kernels")
    else()
      set(BATCHCAST_KERNELS "" CACHE INTERNAL "")
      string(REGEX MATCH "[^\n]*(error|fatal|rror:)[^\n]*" line "${output}")
      set(why_not "${BATCHCAST_NVCC} cannot compile them: ${line}")
    endif()
  endif()
  if(NOT DEFINED why_not)
    message(STATUS "batchcast: CUDA kernels are compiled by ${BATCHCAST_NVCC}")
  elseif(BATCHCAST_CUDA STREQUAL "AUTO")
    message(STATUS "batchcast: without CUDA kernels (images are finished by the CPU): ${why_not}")
  else()
    message(WARNING "batchcast: without CUDA kernels (images are finished by the CPU): ${why_not}")
  endif()
endfunction()

# batchcast_add_kernels(TARGET): adds the source that defines
# batchcast::detail::cuda::finish_kernel_image(); without nvcc, or with BATCHCAST_CUDA=OFF, it is
# empty, and the device stage says so.
function(batchcast_add_kernels target)
  batchcast_try_nvcc()
  set(embed ${PROJECT_SOURCE_DIR}/cmake/EmbedKernels.cmake)
  set(source ${PROJECT_BINARY_DIR}/cuda/kernel_images.cpp)
  set(image "")
  if(BATCHCAST_NVCC AND BATCHCAST_KERNELS)
    set(image ${PROJECT_BINARY_DIR}/cuda/finish_kernel.fatbin)
    # For a test, which looks at what nvcc makes of it.
    set_property(GLOBAL PROPERTY batchcast_compile_kernel
                 ${BATCHCAST_NVCC} ${batchcast_nvcc_language} ${batchcast_kernel})
    add_custom_command(
      OUTPUT ${image}
      COMMAND ${BATCHCAST_NVCC} ${batchcast_nvcc_flags} -MD -MF ${image}.d -o ${image}
              ${batchcast_kernel}
      DEPENDS ${batchcast_kernel} DEPFILE ${image}.d VERBATIM COMMENT "Compiling CUDA kernels")
  endif()
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D "IMAGE=${image}" -D "NVCC=${BATCHCAST_KERNELS}" -D OUT=${source}
            -P ${embed}
    DEPENDS ${image} ${embed} VERBATIM COMMENT "Embedding CUDA kernels")
  target_sources(${target} PRIVATE ${source})
endfunction()
