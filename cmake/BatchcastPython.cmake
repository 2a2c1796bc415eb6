# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Finds what the Python package is built with: Python's headers and nanobind, of the Python that
# Python_EXECUTABLE names or else of the active one. Sets BATCHCAST_PYTHON_FOUND.

set(BATCHCAST_PYTHON_FOUND OFF)
set(python_WHY_NOT "")
if(NOT BUILD_SHARED_LIBS AND NOT BATCHCAST_SANITIZE)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python_Development.Module_FOUND)
    set(python_WHY_NOT "no Python 3.10 or newer with headers (Debian: python3-dev)")
  else()
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_package(nanobind 3.1 CONFIG QUIET)
    if(nanobind_FOUND)
      set(BATCHCAST_PYTHON_FOUND ON)
    else()
      set(python_WHY_NOT "${Python_EXECUTABLE} has no nanobind 3.1 or newer")
    endif()
  endif()
else()
  set(python_WHY_NOT "it takes a static library without sanitizers")
endif()
if(BATCHCAST_PYTHON_FOUND)
  message(STATUS "batchcast: the Python package is made for ${Python_EXECUTABLE} "
                 "(${Python_VERSION})")
elseif(BATCHCAST_PYTHON STREQUAL "AUTO")
  message(STATUS "batchcast: the Python package is not made: ${python_WHY_NOT}; "
                 "`pip install .` makes and installs it")
else()
  message(FATAL_ERROR "BATCHCAST_PYTHON is ON, but the Python package cannot be made: "
                      "${python_WHY_NOT}.\n`sh cmake/bootstrap.sh python` installs Python's "
                      "headers, `pip install .` fetches the rest.")
endif()
