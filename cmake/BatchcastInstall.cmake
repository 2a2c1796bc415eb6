# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# For users of the installed library: find_package(batchcast CONFIG), pkg-config batchcast, and for
# trainers, who link nothing, pkg-config batchcast-consumer.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/batchcast)

# Two files of targets: a trainer's is there also where the library's own needs are not.
install(TARGETS batchcast_consumer EXPORT batchcastConsumerTargets)
if(BATCHCAST_BUILD_PRODUCER)
  install(TARGETS batchcast EXPORT batchcastTargets)
  install(EXPORT batchcastTargets NAMESPACE batchcast:: DESTINATION ${package_dir})
endif()
install(DIRECTORY include/batchcast ${PROJECT_BINARY_DIR}/include/batchcast
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
        PATTERN "*.hpp" PATTERN "*.ipp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT batchcastConsumerTargets NAMESPACE batchcast:: DESTINATION ${package_dir})

if(BATCHCAST_BUILD_CLI)
  install(TARGETS batchcast_cli)
  install(FILES src/cli/batchcast_completion.sh RENAME batchcast
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  if(NOT CMAKE_CROSSCOMPILING AND NOT BATCHCAST_SANITIZE)
    # Whoever installs after building nothing but the command has the page, too.
    set(man_page_script ${PROJECT_SOURCE_DIR}/cmake/man_page.sh)
    # A packager's build may leave the command without the shared library's path.
    add_custom_command(TARGET batchcast_cli POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E env
              LD_LIBRARY_PATH=$<TARGET_FILE_DIR:batchcast>:$ENV{LD_LIBRARY_PATH}
              sh ${man_page_script} $<TARGET_FILE:batchcast_cli> ${PROJECT_BINARY_DIR}/batchcast.1)
    set_property(TARGET batchcast_cli APPEND PROPERTY
                 LINK_DEPENDS ${man_page_script} ${PROJECT_SOURCE_DIR}/cmake/help_pages.sh)
    install(FILES ${PROJECT_BINARY_DIR}/batchcast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH lib_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(batchcast_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  endif()
endif()

configure_package_config_file(cmake/batchcastConfig.cmake.in batchcastConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(batchcastConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/batchcastConfig.cmake
              ${PROJECT_BINARY_DIR}/batchcastConfigVersion.cmake
              cmake/BatchcastTorch.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/batchcast-consumer.pc.in batchcast-consumer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/batchcast-consumer.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(NOT BATCHCAST_BUILD_PRODUCER)
  return()
endif()

# Where only libbatchcast.a is installed, a plain `pkg-config --libs` must name what it uses too:
# most users do not know that their library is static and never pass --static.
#
# Their link lines, and not their names in Requires: of a required module, `pkg-config --static`
# also names whatever it was built with. For libzmq and libarchive these are libraries that nobody
# needs who links their shared ones, that no package of theirs brings along, or that cannot be
# linked at all (norm's `libprotokit.a`).
set(pc_modules "")
foreach(module IN LISTS BATCHCAST_PKG_MODULES ITEMS libzmq)
  set(directories "${${module}_LIBRARY_DIRS}")
  list(REMOVE_ITEM directories ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  list(TRANSFORM directories PREPEND -L)
  list(TRANSFORM ${module}_LIBRARIES PREPEND -l OUTPUT_VARIABLE libraries)
  list(APPEND pc_modules ${directories} ${libraries})
endforeach()
list(JOIN pc_modules " " pc_modules)
if(BUILD_SHARED_LIBS)
  set(pc_libs "")
  set(pc_libs_private "${pc_modules} ")
else()
  set(pc_libs " ${pc_modules}")
  set(pc_libs_private "")
endif()
configure_file(cmake/batchcast.pc.in batchcast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/batchcast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
