# SPDX-License-Identifier: BSL-1.0
# What `cmake --install` installs, in components: `headers` (with the CMake package and allot.pc), `program` (with
# its scenarios and documentation) and `lab` (allot::lab, which programs with policies of their own link); the last
# two where they are built. And what cpack makes of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers and CMake files are the same for every architecture, so all of it goes to include/ and share/.
set(ALLOT_INSTALL_CMAKE_DIR
    ${CMAKE_INSTALL_DATADIR}/cmake/allot
    CACHE STRING "Where the CMake package is installed")
set(package_dir ${ALLOT_INSTALL_CMAKE_DIR})

function(allot_install_targets export)
  # INCLUDES DESTINATION besides the file set: the exported file guards the set with CMake >= 3.23, and an older
  # consumer would find no include directory.
  install(
    TARGETS ${ARGN}
    EXPORT ${export}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
    FILE_SET inside DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
    INCLUDES
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(
    EXPORT ${export}
    NAMESPACE allot::
    DESTINATION ${package_dir}
    COMPONENT headers)
endfunction()
allot_install_targets(allotTargets allot allot_gpu allot_sim)
if(TARGET allot_graph)
  allot_install_targets(allotGraphTargets allot_graph)
endif()

# A compiled library is of one architecture: its file goes beside it, and the package looks for it there.
set(lab_dir ${CMAKE_INSTALL_LIBDIR}/cmake/allot)
if(TARGET allot_lab)
  install(
    TARGETS allot_lab
    EXPORT allotLabTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lab
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT lab)
  install(
    EXPORT allotLabTargets
    NAMESPACE allot::
    DESTINATION ${lab_dir}
    COMPONENT lab)
  install(TARGETS allot_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  # Where `allot --help` looks for them (bench/lab/cli/guide.cpp).
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/bench/lab/scenarios ${PROJECT_SOURCE_DIR}/bench/lab/experiments
    DESTINATION share/allot
    COMPONENT program)
  install(
    FILES ${PROJECT_SOURCE_DIR}/bench/lab/README.md
    DESTINATION share/doc/allot
    RENAME lab.md
    COMPONENT program)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/.cmake/allotConfig.cmake.in ${PROJECT_BINARY_DIR}/allotConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# While the version is 0.x a minor version may break; at 1.0 this becomes SameMajorVersion.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/allotConfigVersion.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
# The prefix is found from where the file is, so that a package can be moved.
configure_file(${PROJECT_SOURCE_DIR}/.cmake/allot.pc.in ${PROJECT_BINARY_DIR}/allot.pc @ONLY)
install(
  FILES ${PROJECT_BINARY_DIR}/allotConfig.cmake ${PROJECT_BINARY_DIR}/allotConfigVersion.cmake
  DESTINATION ${package_dir}
  COMPONENT headers)
install(
  FILES ${PROJECT_BINARY_DIR}/allot.pc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig
  COMPONENT headers)
install(
  FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/allot
  COMPONENT headers)
install(
  FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION share/doc/allot
  COMPONENT headers)

# `cpack -G DEB` in the build directory: one package of all components that are built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT
    "The authors of allot <allot@localhost>"
    CACHE STRING "Who maintains the packages that cpack makes: a name and an address")
set(CPACK_COMPONENTS_ALL headers)
if(TARGET allot_lab)
  list(APPEND CPACK_COMPONENTS_ALL program lab)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_NAME allot)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libboost-dev (>= 1.74), libfmt-dev, zlib1g-dev, libyaml-cpp-dev")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
