# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Target `docs`, where doxygen is: pages of the headers that users include, in docs/html of the
# build folder. What has no comment is listed in docs/undocumented.txt there, and counted.

find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  set(docs_folder ${PROJECT_BINARY_DIR}/docs)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${docs_folder}/Doxyfile @ONLY)
  set(count "echo without a comment: $(grep -c 'is not documented' undocumented.txt) names,")
  add_custom_target(docs VERBATIM
    COMMAND Doxygen::doxygen ${docs_folder}/Doxyfile
    COMMAND sh -c "${count} listed in ${docs_folder}/undocumented.txt"
    WORKING_DIRECTORY ${docs_folder})
endif()
