# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# batchcast_add_label_font(TARGET): adds the source that defines what
# src/cli/peek/embedded_fonts.hpp declares: the fonts that BatchcastDependencies.cmake has found
# (docs/decisions/0031).
function(batchcast_add_label_font target)
  set(embed ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EmbedFiles.cmake)
  set(source ${PROJECT_BINARY_DIR}/font/embedded_fonts.cpp)
  set(files "narrow_font=${BATCHCAST_NARROW_FONT};wide_font=${BATCHCAST_WIDE_FONT}")
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D HEADER=cli/peek/embedded_fonts.hpp
            -D NAMESPACE=batchcast::cli -D OUT=${source} -P ${embed}
    DEPENDS ${BATCHCAST_NARROW_FONT} ${BATCHCAST_WIDE_FONT} ${embed}
    VERBATIM COMMENT "Embedding the font of labels")
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} TARGET_DIRECTORY ${target}
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
