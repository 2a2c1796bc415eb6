# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# cmake [-D IMAGE=kernel.fatbin -D NVCC=nvcc] -D OUT=image.cpp -P EmbedKernels.cmake

set(head "// Made by EmbedKernels.cmake.\n#include \"cuda/finish_kernel.hpp\"\n\n")
set(function "namespace batchcast::detail::cuda {\n\n\
std::span<const std::byte> finish_kernel_image() noexcept {")
set(version 0)
if(IMAGE)
  # "Cuda compilation tools, release 13.0, V13.0.48"
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE said)
  if(said MATCHES "release ([0-9]+)\\.([0-9]+)")
    math(EXPR version "${CMAKE_MATCH_1} * 1000 + ${CMAKE_MATCH_2} * 10")
  endif()
  file(READ ${IMAGE} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes ${bytes})
  string(REGEX REPLACE "(....................................................................\
................................)" "\\1\n" bytes ${bytes})
  # A driver reads the image in words.
  file(WRITE ${OUT} "${head}namespace {\nalignas(16) constexpr unsigned char image[] = {\n\
${bytes}\n};\n}  // namespace\n\n\
${function}\n  return std::as_bytes(std::span(image));\n}\n\n")
else()
  file(WRITE ${OUT} "${head}${function} return {}; }\n\n")
endif()
file(APPEND ${OUT} "int finish_kernel_toolkit() noexcept { return ${version}; }\n\n\
}  // namespace batchcast::detail::cuda\n")
