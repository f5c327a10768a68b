// SPDX-License-Identifier: BSL-1.0
#include "lab/io/files.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] std::string last_error() {
  return errno == 0 ? "reading failed" : std::generic_category().message(errno);
}

}  // namespace

input_limits& limits_of_input() noexcept {
  static input_limits limits;
  return limits;
}

std::string too_much(std::uint64_t most) {
  constexpr std::array<std::pair<unsigned, const char*>, 3> units = {
      {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}}};
  std::string size = std::to_string(most) + " bytes";
  for (const auto& [shift, name] : units) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (most < unit || most % unit != 0) continue;
    size = std::to_string(most / unit) + name;
    break;
  }
  return "there are more than " + size +
         " to read, unpacked (expected less; --max-input SIZE raises the limit)";
}

input_file::input_file(const std::string& path) {
  if (path == "-") {
    file_ = stdin;
    return;
  }
  errno = 0;
  file_ = std::fopen(path.c_str(), "rb");
  is_ours_ = file_ != nullptr;
  if (file_ == nullptr) problem_ = last_error();
}

input_file::~input_file() {
  if (is_ours_) std::fclose(file_);
}

std::ptrdiff_t input_file::read(char* to, std::size_t size) {
  if (file_ == nullptr || !problem_.empty()) return -1;
  errno = 0;
  const std::size_t n = std::fread(to, 1, size, file_);
  if (n == 0 && std::ferror(file_) != 0) {
    problem_ = last_error();
    return -1;
  }
  return static_cast<std::ptrdiff_t>(n);
}

std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string beside(const std::string& from, const std::string& path) {
  const std::filesystem::path p{path};
  if (path == "-" || from == "-" || p.is_absolute()) return path;
  return (std::filesystem::path{from}.parent_path() / p).string();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
