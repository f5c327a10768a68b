# SPDX-License-Identifier: BSL-1.0
# The recipe for Conan 2:  conan create .
# Conan's users do not see the CMake package of `cmake --install`: the targets are declared here again.
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy
from conan.tools.layout import basic_layout
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class AllotConan(ConanFile):
    name = "allot"
    version = "0.2.0"
    description = "The scheduling-policy layer of a GPU cluster: quotas, lending, fair share, preemption"
    license = "BSL-1.0"
    topics = ("scheduling", "gpu", "quota", "fair-share", "preemption", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # What brings the headers of Boost for allot::graph: nothing (then there is no allot::graph), the machine, or
    # Conan's own package.
    options = {"boost": ["none", "system", "conan"]}
    default_options = {"boost": "none"}
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def layout(self):
        basic_layout(self)

    def requirements(self):
        if self.options.boost == "conan":
            self.requires("boost/[>=1.74 <2]", options={"header_only": True})

    def package_id(self):
        # The files are the same for every setting; which targets are declared is an option.
        self.info.settings.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        oldest = {"gcc": "12", "clang": "14"}.get(str(self.settings.compiler))
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"allot needs {self.settings.compiler} {oldest} or newer")

    def package(self):
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "allot")
        parts = {"allot": [], "gpu": ["allot"], "sim": ["gpu"]}
        if self.options.boost != "none":
            parts["graph"] = ["gpu"] + (["boost::headers"] if self.options.boost == "conan" else [])
        for part, needs in parts.items():
            of_part = self.cpp_info.components[part]
            of_part.set_property("cmake_target_name", f"allot::{part}")
            of_part.set_property("pkg_config_name", "allot" if part == "allot" else f"allot-{part}")
            of_part.requires = needs
            of_part.bindirs = []
            of_part.libdirs = []
