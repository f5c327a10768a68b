// SPDX-License-Identifier: BSL-1.0
#include "lab/cli/guide.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] std::string shown(const fs::path& path) {
  std::error_code failed;
  const fs::path here = fs::current_path(failed);
  const fs::path relative = failed ? path : path.lexically_relative(here);
  const bool is_below = !relative.empty() && *relative.begin() != "..";
  return (is_below ? relative : path).generic_string();
}

[[nodiscard]] bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

}  // namespace

guide find_guide(const std::string& program) {
  std::error_code failed;
  fs::path top = fs::weakly_canonical(program, failed);
  while (!failed && top.has_relative_path()) {
    top = top.parent_path();
    const fs::path installed = top / "share";
    if (is_there(installed / "allot" / "scenarios")) {
      return {shown(installed / "doc" / "allot" / "lab.md"), shown(installed / "allot" / "scenarios"),
              shown(installed / "allot" / "experiments")};
    }
    const fs::path source = top / "bench" / "lab";
    if (is_there(source / "scenarios")) {
      return {shown(source / "README.md"), shown(source / "scenarios"), shown(source / "experiments")};
    }
  }
  return {};
}

guide find_guide() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? guide{} : find_guide(program.string());
}

std::string with_paths_of(const guide& files, std::string text) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> paths = {
      {{"bench/lab/README.md", files.readme},
       {"bench/lab/scenarios", files.scenarios},
       {"bench/lab/experiments", files.experiments}}};
  for (const auto& [from, to] : paths) {
    if (to.empty()) continue;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
