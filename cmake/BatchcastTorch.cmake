# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Finds libtorch and links it, in batchcast's own build and in find_package(batchcast COMPONENTS
# torch). Takes libtorch's files rather than its CMake package: the package of a CUDA build wants
# the CUDA toolkit and language, and where Debian's libtorch is installed too it mixes the two.
cmake_policy(VERSION 3.25)

# batchcast_look_for_torch(ROOT): is there in ROOT a libtorch that what is compiled here can be
# linked with? Sets torch_VERSION, torch_ROOT, torch_INCLUDE_DIRS, torch_LIBRARY_DIR, torch_CUDA
# (can its CUDA half be loaded?), torch_DEFINITIONS and torch_OLD_ABI (was it compiled with
# _GLIBCXX_USE_CXX11_ABI=0? Such a one is taken where the variable batchcast_TAKES_OLD_ABI is on:
# trainers, which link nothing of batchcast, can be compiled so too); or torch_WHY_NOT, which is
# empty otherwise.
function(batchcast_look_for_torch torch_ROOT)
  cmake_path(NORMAL_PATH torch_ROOT)
  string(REGEX REPLACE "(.)/$" "\\1" torch_ROOT "${torch_ROOT}")
  set(torch_LIBRARY_DIR "")
  foreach(dir IN ITEMS lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
    if(EXISTS ${torch_ROOT}/${dir}/libtorch_cpu.so AND EXISTS ${torch_ROOT}/${dir}/libc10.so)
      cmake_path(SET torch_LIBRARY_DIR NORMALIZE ${torch_ROOT}/${dir})
      break()
    endif()
  endforeach()
  set(api ${torch_ROOT}/include/torch/csrc/api/include)
  if(NOT torch_LIBRARY_DIR OR NOT EXISTS ${api}/torch/version.h)
    set(torch_WHY_NOT "${torch_ROOT} holds no libtorch with headers")
    return(PROPAGATE torch_WHY_NOT)
  endif()

  # In newer ones the numbers stand in a file that version.h includes.
  set(version_h ${api}/torch/version.h)
  if(EXISTS ${torch_ROOT}/include/torch/headeronly/version.h)
    set(version_h ${torch_ROOT}/include/torch/headeronly/version.h)
  endif()
  set(torch_VERSION "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${version_h} line REGEX "^#define TORCH_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND torch_VERSION ${number})
  endforeach()
  list(JOIN torch_VERSION "." torch_VERSION)
  if(torch_VERSION VERSION_LESS 1.13)
    set(torch_WHY_NOT "the libtorch in ${torch_ROOT} is ${torch_VERSION}; 1.13 is the oldest that \
batchcast works with")
    return(PROPAGATE torch_WHY_NOT)
  endif()
  file(STRINGS ${torch_LIBRARY_DIR}/libc10.so todays_strings LIMIT_COUNT 1
       REGEX "3c105Error.*NSt7__cxx1112basic_string")
  set(torch_OLD_ABI OFF)
  if(NOT todays_strings)
    set(torch_OLD_ABI ON)
    if(NOT batchcast_TAKES_OLD_ABI)
      set(torch_WHY_NOT "the libtorch ${torch_VERSION} in ${torch_ROOT} was compiled with \
_GLIBCXX_USE_CXX11_ABI=0, as all of PyPI's were before 2.7, and does not link with batchcast's \
library; take a newer one, or in a project of trainers alone the installed batchcast::torch")
      return(PROPAGATE torch_WHY_NOT)
    endif()
  endif()

  # Where what its CUDA half needs was not installed, no program linked with that would start.
  set(torch_CUDA OFF)
  if(EXISTS ${torch_LIBRARY_DIR}/libtorch_cuda.so)
    execute_process(COMMAND ldd ${torch_LIBRARY_DIR}/libtorch_cuda.so
                    OUTPUT_VARIABLE needed RESULT_VARIABLE failed ERROR_QUIET)
    if(failed EQUAL 0 AND NOT needed MATCHES "not found")
      set(torch_CUDA ON)
    endif()
  endif()

  set(torch_INCLUDE_DIRS ${torch_ROOT}/include ${api})
  if(torch_ROOT STREQUAL "/usr")
    # The compiler knows /usr/include, and other headers must stay in front of it.
    list(POP_FRONT torch_INCLUDE_DIRS)
  endif()
  batchcast_read_torch_definitions()
  set(torch_WHY_NOT "")
  return(PROPAGATE torch_VERSION torch_ROOT torch_INCLUDE_DIRS torch_LIBRARY_DIR torch_CUDA
         torch_DEFINITIONS torch_OLD_ABI torch_WHY_NOT)
endfunction()

# batchcast_read_torch_definitions(): sets torch_DEFINITIONS to what libtorch's own CMake package
# has the users of its libraries define, such as USE_C10D_GLOO: its headers ask for it.
function(batchcast_read_torch_definitions)
  set(torch_DEFINITIONS "")
  set(libraries torch_cpu)
  if(torch_CUDA)
    list(APPEND libraries torch_cuda)
  endif()
  foreach(dir IN ITEMS ${torch_ROOT}/share/cmake ${torch_LIBRARY_DIR}/cmake)
    if(NOT EXISTS ${dir}/Caffe2/Caffe2Targets.cmake)
      continue()
    endif()
    file(READ ${dir}/Caffe2/Caffe2Targets.cmake targets)
    foreach(library IN LISTS libraries)
      set(begins "set_target_properties\\(${library} PROPERTIES[ \n]+")
      if(targets MATCHES "${begins}INTERFACE_COMPILE_DEFINITIONS \"([A-Za-z0-9_=;]*)\"")
        list(APPEND torch_DEFINITIONS ${CMAKE_MATCH_1})
      endif()
    endforeach()
    break()
  endforeach()
  list(REMOVE_DUPLICATES torch_DEFINITIONS)
  return(PROPAGATE torch_DEFINITIONS)
endfunction()

# batchcast_find_torch(): looks in Torch_DIR and nowhere else, if that is set; otherwise in
# CMAKE_PREFIX_PATH, then for the `torch` of the PATH's python3, then for the distribution's. Sets
# what batchcast_look_for_torch sets; torch_PASSED_BY says which unusable ones stood before the one
# that was found. The python3 is asked anew each time: it is whichever is active.
function(batchcast_find_torch)
  set(torch_PASSED_BY "")
  if(Torch_DIR)
    # A wheel has share/cmake/Torch, a distribution lib/<architecture>/cmake/Torch.
    batchcast_look_for_torch(${Torch_DIR}/../../..)
    if(torch_WHY_NOT MATCHES "holds no libtorch")
      batchcast_look_for_torch(${Torch_DIR}/../../../..)
    endif()
    if(torch_WHY_NOT MATCHES "holds no libtorch")
      set(torch_WHY_NOT "Torch_DIR is ${Torch_DIR}, and no libtorch with headers is \
around it; it is to be the folder of TorchConfig.cmake, a wheel's torch/share/cmake/Torch")
    endif()
    return(PROPAGATE torch_VERSION torch_ROOT torch_INCLUDE_DIRS torch_LIBRARY_DIR torch_CUDA
           torch_DEFINITIONS torch_OLD_ABI torch_WHY_NOT torch_PASSED_BY)
  endif()

  set(roots "")
  find_path(prefixed NAMES TorchConfig.cmake PATH_SUFFIXES share/cmake/Torch NO_CACHE
            NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH)
  if(prefixed)
    list(APPEND roots ${prefixed}/../../..)
  endif()
  execute_process(COMMAND python3 -c "from importlib.util import find_spec
print(find_spec('torch').submodule_search_locations[0])"
                  OUTPUT_VARIABLE pythons OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  # The distribution's own package for Python lies there, without headers.
  if(failed EQUAL 0 AND NOT pythons MATCHES "^/usr/lib/python3/")
    list(APPEND roots ${pythons})
  endif()
  foreach(root IN LISTS roots ITEMS /usr)
    batchcast_look_for_torch(${root})
    if(NOT torch_WHY_NOT)
      break()
    elseif(NOT torch_WHY_NOT MATCHES "holds no libtorch")
      list(APPEND torch_PASSED_BY ${torch_WHY_NOT})
    endif()
  endforeach()
  if(torch_WHY_NOT)
    set(torch_WHY_NOT ${torch_PASSED_BY} "there is none in CMAKE_PREFIX_PATH or in the active \
python3, nor Debian's (libtorch-dev); Torch_DIR can name one")
  endif()
  list(JOIN torch_WHY_NOT "; " torch_WHY_NOT)
  list(JOIN torch_PASSED_BY "; " torch_PASSED_BY)
  return(PROPAGATE torch_VERSION torch_ROOT torch_INCLUDE_DIRS torch_LIBRARY_DIR torch_CUDA
         torch_DEFINITIONS torch_OLD_ABI torch_WHY_NOT torch_PASSED_BY)
endfunction()

# batchcast_link_torch(TARGET): what was found, for all that link TARGET.
function(batchcast_link_torch target)
  target_include_directories(${target} SYSTEM INTERFACE ${torch_INCLUDE_DIRS})
  target_compile_definitions(${target} INTERFACE ${torch_DEFINITIONS})
  if(torch_OLD_ABI)
    target_compile_definitions(${target} INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
  endif()
  target_link_libraries(${target} INTERFACE
    ${torch_LIBRARY_DIR}/libtorch_cpu.so ${torch_LIBRARY_DIR}/libc10.so)
  if(torch_CUDA)
    # It registers itself when it is loaded; no program calls anything of it.
    target_link_libraries(${target} INTERFACE
      "-Wl,--push-state,--no-as-needed,\"${torch_LIBRARY_DIR}/libtorch_cuda.so\",--pop-state"
      ${torch_LIBRARY_DIR}/libc10_cuda.so)
  endif()
  # What libtorch itself lacks is no business of a program's linker.
  target_link_options(${target} INTERFACE -Wl,--allow-shlib-undefined)
endfunction()

# batchcast_say_torch(): one line of the configuration's output.
function(batchcast_say_torch)
  set(cuda "")
  if(torch_OLD_ABI)
    set(cuda ", of the C++ ABI before 2015")
  endif()
  if(torch_CUDA)
    string(APPEND cuda ", with CUDA")
  elseif(EXISTS ${torch_LIBRARY_DIR}/libtorch_cuda.so)
    string(APPEND cuda
           ", without CUDA: some libraries that libtorch_cuda.so needs are not installed")
  endif()
  if(torch_PASSED_BY)
    string(APPEND cuda " (passed by: ${torch_PASSED_BY})")
  endif()
  message(STATUS "batchcast: libtorch ${torch_VERSION} in ${torch_ROOT}${cuda}")
endfunction()
