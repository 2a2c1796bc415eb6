# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# The presets of src/data/recipe/presets, in the order in which `batchcast recipe --list` has them.
set(batchcast_presets
    imagenet-train imagenet-eval cifar-train cifar-eval mnist to-tensor tokens
    # What papers and their published code did; docs/recipes.md says where each comes from and what
    # is not the same.
    torchvision-v1 torchvision-v1-eval torchvision-v2 torchvision-v2-eval deit deit-eval deit-iii
    simclr moco-v3 dino mae clip clip-eval cifar-autoaugment cifar-autoaugment-eval
    voc-segmentation pix2pix)

# batchcast_add_presets(TARGET): adds the source that defines batchcast::detail::presets().
function(batchcast_add_presets target)
  set(embed ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EmbedPresets.cmake)
  cmake_path(SET folder NORMALIZE
             ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/data/recipe/presets)
  set(source ${PROJECT_BINARY_DIR}/recipe/presets.cpp)
  list(TRANSFORM batchcast_presets REPLACE "(.+)"
       "${folder}/\\1.toml" OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D "PRESETS=${batchcast_presets}" -D FOLDER=${folder} -D OUT=${source}
            -P ${embed}
    DEPENDS ${files} ${embed} VERBATIM COMMENT "Embedding presets")
  target_sources(${target} PRIVATE ${source})
endfunction()
