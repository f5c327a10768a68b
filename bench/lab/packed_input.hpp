// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/files.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A file that is read from its beginning to its end, unpacked if it begins as gzip does (whatever it is
/// called); "-" is standard input. A gzip file that ends too early, or whose checksum is wrong, can't be read
/// any further. Needs zlib for gzip (`unpacks_gzip`).
class packed_input {
 public:
  explicit packed_input(const std::string& path);
  packed_input(const packed_input&) = delete;
  packed_input& operator=(const packed_input&) = delete;
  ~packed_input();

  /// Whether this program was built with zlib.
  [[nodiscard]] static bool unpacks_gzip() noexcept;

  /// Why it can't be read (any further); empty while all is well.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Reads up to `size` bytes of the unpacked text; returns how many, 0 at the end, -1 when reading fails.
  std::ptrdiff_t read(char* to, std::size_t size);
  /// The rest of it, or nothing when reading fails.
  [[nodiscard]] std::optional<std::string> read_all();
  /// The beginning of the text that `read` will give, as much as is at hand and at most `most`.
  [[nodiscard]] std::string_view peek(std::size_t most);

 private:
  struct unpacker;

  std::ptrdiff_t read_on(char* to, std::size_t size);
  std::ptrdiff_t read_raw(char* to, std::size_t size);
  std::ptrdiff_t unpack(char* to, std::size_t size);

  input_file file_;
  std::string problem_;
  std::unique_ptr<unpacker> unpacker_;
  /// Raw bytes that were looked at and not used yet.
  std::string ahead_;
  /// Unpacked ones.
  std::string peeked_;
  bool is_known_ = false;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
