// SPDX-License-Identifier: BSL-1.0
#include "lab/io/packed_output.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#ifdef ALLOT_LAB_ZLIB
#include <zlib.h>
#endif

namespace allot {
inline namespace v0 {
namespace lab {

bool is_called_packed(std::string_view path) noexcept {
  constexpr std::string_view ending = ".gz";
  return path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
}

#ifdef ALLOT_LAB_ZLIB

struct gzip_packer::state {
  state() {
    constexpr int gzip_window = 15 + 16;
    constexpr int usual_memory = 8;
    is_ready = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, usual_memory,
                            Z_DEFAULT_STRATEGY) == Z_OK;
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (is_ready) ::deflateEnd(&stream);
  }

  ::z_stream stream{};
  bool is_ready = false;
};

std::string gzip_packer::problem() const {
  return state_->is_ready ? std::string{} : "gzip: there is not enough memory to pack";
}

void gzip_packer::pack(std::string_view text, bool is_end, std::string& to) {
  ::z_stream& stream = state_->stream;
  std::array<unsigned char, 1U << 16U> packed{};
  do {
    // zlib's counts are 32 bits wide.
    const std::size_t some = std::min<std::size_t>(text.size(), 1U << 30U);
    const bool is_last = some == text.size();
    // zlib only reads its input, despite the type.
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<unsigned>(some);
    do {
      stream.next_out = packed.data();
      stream.avail_out = static_cast<unsigned>(packed.size());
      ::deflate(&stream, is_end && is_last ? Z_FINISH : Z_NO_FLUSH);
      to.append(reinterpret_cast<const char*>(packed.data()), packed.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    text.remove_prefix(some);
  } while (!text.empty());
}

#else

struct gzip_packer::state {};

std::string gzip_packer::problem() const {
  return "a name that ends in .gz is that of a gzip file, and this program was built without zlib";
}

void gzip_packer::pack(std::string_view, bool, std::string&) {}

#endif

gzip_packer::gzip_packer() : state_(std::make_unique<state>()) {}
gzip_packer::~gzip_packer() = default;

}  // namespace lab
}  // namespace v0
}  // namespace allot
