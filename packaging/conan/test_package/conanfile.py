# SPDX-License-Identifier: BSL-1.0
# A consumer of the package: `conan create` builds and runs it.
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HAS_GRAPH"] = self.dependencies["allot"].options.boost != "none"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ["consumer", "views"] if self.dependencies["allot"].options.boost != "none" else ["consumer"]:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
