// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// What is read at most. A mistaken path may name a device without end, and a small packed file may hold
/// terabytes.
struct input_limits {
  /// In bytes after unpacking, of a file that is kept in memory as a whole, and of one that is read row by
  /// row (a trace).
  std::uint64_t document = std::uint64_t{1} << 30U;
  std::uint64_t table = std::uint64_t{1} << 32U;
  /// The levels of a tree of quotas.
  std::size_t depth = 256;
};
/// The limits of this program; its options set them before anything is read.
[[nodiscard]] input_limits& limits_of_input() noexcept;

/// The complaint about a file that has more than `most` bytes.
[[nodiscard]] std::string too_much(std::uint64_t most);

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
