# SPDX-License-Identifier: BSL-1.0
# An overlay port: it builds the sources that it stands in. (A port of a registry downloads an archive of a release
# with vcpkg_from_github instead.)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# Headers only: a debug build would install the same.
set(VCPKG_BUILD_TYPE release)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES graph ALLOT_GRAPH)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DALLOT_BUILD_TESTS=OFF
        -DALLOT_BUILD_EXAMPLES=OFF
        -DALLOT_BUILD_BENCH=OFF
        -DALLOT_INSTALL=ON
        # Where vcpkg wants it, so that nothing has to be moved.
        -DALLOT_INSTALL_CMAKE_DIR=share/allot
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/allot)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses" "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
