// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// A file that is read sequentially; "-" is standard input.
class input_file {
 public:
  explicit input_file(const std::string& path);
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;
  ~input_file();

  /// Why it can't be read, in the system's words ("No such file or directory"); empty if there is no problem.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Reads up to `size` bytes. Returns the number read, 0 at the end, -1 on failure.
  std::ptrdiff_t read(char* to, std::size_t size);
  /// The rest of the file, or nullopt on failure.
  [[nodiscard]] std::optional<std::string> read_all();

 private:
  std::FILE* file_ = nullptr;
  bool is_ours_ = false;
  std::string problem_;
};

/// The file's name in messages: its path as the user gave it, or "standard input".
[[nodiscard]] std::string shown_path(const std::string& path);

/// `path` relative to the directory of the file `from`, unless it is absolute or "-".
[[nodiscard]] std::string beside(const std::string& from, const std::string& path);

}  // namespace lab
}  // namespace v0
}  // namespace allot
