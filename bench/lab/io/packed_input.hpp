// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A file that is read sequentially, and unpacked if it begins like gzip (whatever its name); "-" is standard
/// input. Reading stops at the point where a gzip file is truncated or has a wrong checksum, and where there
/// is more than `limits_of_input` allows. Gzip needs zlib (`unpacks_gzip`).
class packed_input {
 public:
  explicit packed_input(const std::string& path);
  packed_input(const packed_input&) = delete;
  packed_input& operator=(const packed_input&) = delete;
  ~packed_input();

  /// Whether this program was built with zlib.
  [[nodiscard]] static bool unpacks_gzip() noexcept;

  /// Why it can't be read (any further); empty if there is no problem.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Reads up to `size` bytes of the unpacked text. Returns the number read, 0 at the end, -1 on failure.
  std::ptrdiff_t read(char* to, std::size_t size);
  /// The rest of the text, or nullopt on failure.
  [[nodiscard]] std::optional<std::string> read_all();
  /// The beginning of the text that `read` will return: what is available, at most `most`.
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
  /// Unpacked bytes that were looked at.
  std::string peeked_;
  bool is_known_ = false;
  /// How many bytes have been read.
  std::uint64_t unpacked_ = 0;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
