// SPDX-License-Identifier: BSL-1.0
#include "lab/io/packed_input.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef ALLOT_LAB_ZLIB
#include <zlib.h>
#endif

namespace allot {
inline namespace v0 {
namespace lab {

#ifdef ALLOT_LAB_ZLIB

struct packed_input::unpacker {
  unpacker() { is_ready = ::inflateInit2(&stream, 15 + 16) == Z_OK; }
  unpacker(const unpacker&) = delete;
  unpacker& operator=(const unpacker&) = delete;
  ~unpacker() {
    if (is_ready) ::inflateEnd(&stream);
  }

  ::z_stream stream{};
  std::array<unsigned char, 1U << 16U> packed{};
  std::uint64_t used_before = 0;  // packed bytes that are no longer in `packed`
  bool is_ready = false;
  /// Between two gzip members, where the file may end.
  bool at_boundary = false;

  std::size_t filled = 0;  // the number of bytes in `packed`

  /// How many packed bytes have been used.
  [[nodiscard]] std::uint64_t position() const { return used_before + (filled - stream.avail_in); }
};

bool packed_input::unpacks_gzip() noexcept {
  return true;
}

std::ptrdiff_t packed_input::unpack(char* to, std::size_t size) {
  unpacker& u = *unpacker_;
  if (!u.is_ready) {
    problem_ = "gzip: there is not enough memory to unpack it";
    return -1;
  }
  u.stream.next_out = reinterpret_cast<unsigned char*>(to);
  u.stream.avail_out = static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30U));
  const unsigned room = u.stream.avail_out;
  while (u.stream.avail_out == room) {
    if (u.stream.avail_in == 0) {
      u.used_before += u.filled;
      const std::ptrdiff_t got = read_raw(reinterpret_cast<char*>(u.packed.data()), u.packed.size());
      if (got < 0) return -1;
      u.filled = static_cast<std::size_t>(got);
      if (got == 0) {
        if (u.at_boundary) return 0;
        problem_ = "the gzip file ends after " + std::to_string(u.used_before) +
                   " bytes in the middle of its data (is it truncated?)";
        return -1;
      }
      u.stream.next_in = u.packed.data();
      u.stream.avail_in = static_cast<unsigned>(got);
    }
    if (u.at_boundary) {
      // Concatenated gzip files are one file.
      ::inflateReset(&u.stream);
      u.at_boundary = false;
    }
    const int status = ::inflate(&u.stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      u.at_boundary = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      problem_ = "the gzip data is damaged at byte " + std::to_string(u.position() + 1);
      if (u.stream.msg != nullptr) problem_ += std::string{" ("} + u.stream.msg + ')';
      return -1;
    }
  }
  return static_cast<std::ptrdiff_t>(room - u.stream.avail_out);
}

#else

struct packed_input::unpacker {};

bool packed_input::unpacks_gzip() noexcept {
  return false;
}

std::ptrdiff_t packed_input::unpack(char*, std::size_t) {
  problem_ = "the file is packed with gzip, and this program was built without zlib (expected plain text)";
  return -1;
}

#endif

packed_input::packed_input(const std::string& path) : file_(path), problem_(file_.problem()) {}
packed_input::~packed_input() = default;

std::ptrdiff_t packed_input::read_raw(char* to, std::size_t size) {
  if (!ahead_.empty()) {
    const std::size_t n = ahead_.copy(to, size);
    ahead_.erase(0, n);
    return static_cast<std::ptrdiff_t>(n);
  }
  const std::ptrdiff_t got = file_.read(to, size);
  if (got < 0) problem_ = file_.problem();
  return got;
}

std::ptrdiff_t packed_input::read_on(char* to, std::size_t size) {
  if (!problem_.empty()) return -1;
  if (!is_known_) {
    is_known_ = true;
    char byte = 0;
    while (ahead_.size() < 2) {
      const std::ptrdiff_t got = file_.read(&byte, 1);
      if (got < 0) {
        problem_ = file_.problem();
        return -1;
      }
      if (got == 0) break;
      ahead_ += byte;
    }
    if (ahead_ == "\x1F\x8B") unpacker_ = std::make_unique<unpacker>();
  }
  const std::ptrdiff_t got = unpacker_ ? unpack(to, size) : read_raw(to, size);
  if (got > 0) unpacked_ += static_cast<std::uint64_t>(got);
  if (unpacked_ <= limits_of_input().table) return got;
  problem_ = too_much(limits_of_input().table);
  return -1;
}

std::ptrdiff_t packed_input::read(char* to, std::size_t size) {
  if (peeked_.empty()) return read_on(to, size);
  const std::size_t n = peeked_.copy(to, size);
  peeked_.erase(0, n);
  return static_cast<std::ptrdiff_t>(n);
}

std::optional<std::string> packed_input::read_all() {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  const std::uint64_t most = limits_of_input().document;
  for (;;) {
    const std::ptrdiff_t n = read(buffer.data(), buffer.size());
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > most) {
      problem_ = too_much(most);
      return std::nullopt;
    }
    // No text goes on after a zero byte: its reader complains of that, and a device without end is left soon.
    if (std::memchr(buffer.data(), '\0', static_cast<std::size_t>(n)) != nullptr) return text;
  }
}

std::string_view packed_input::peek(std::size_t most) {
  std::array<char, 1U << 12U> buffer{};
  while (peeked_.size() < most) {
    const std::ptrdiff_t got = read_on(buffer.data(), std::min(buffer.size(), most - peeked_.size()));
    if (got <= 0) break;
    peeked_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return std::string_view{peeked_}.substr(0, most);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
