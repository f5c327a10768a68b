// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Whether the name is that of a gzip file: it ends in ".gz".
[[nodiscard]] bool is_called_packed(std::string_view path) noexcept;

/// Packs a text with gzip, piece by piece. The same text in the same pieces gives the same bytes. Needs zlib.
class gzip_packer {
 public:
  gzip_packer();
  gzip_packer(const gzip_packer&) = delete;
  gzip_packer& operator=(const gzip_packer&) = delete;
  ~gzip_packer();

  /// Why it can't pack anything; empty if it can.
  [[nodiscard]] std::string problem() const;
  /// Appends to `to` the packed text available so far, and at the end the rest. Precondition: no problem, and
  /// no call after the end.
  void pack(std::string_view text, bool is_end, std::string& to);

 private:
  struct state;

  std::unique_ptr<state> state_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
