// SPDX-License-Identifier: BSL-1.0
#include "lab/io/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

struct character {
  std::uint32_t code = 0;
  /// The number of bytes; 0 if they are not UTF-8.
  std::size_t size = 0;
};

[[nodiscard]] character first_of(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = 0xD800 <= code && code <= 0xDFFF;
  if (code < least[size] || code > 0x10FFFF || is_surrogate) return {};
  return {code, size};
}

[[nodiscard]] bool is_obeyed(std::uint32_t code) noexcept {
  const auto is_in = [&](std::uint32_t first, std::uint32_t last) { return first <= code && code <= last; };
  return code < 0x20 || is_in(0x7F, 0x9F) || code == 0x061C || is_in(0x200E, 0x200F) ||
         is_in(0x2028, 0x202E) || is_in(0x2066, 0x2069);
}

void append_escaped(std::string& to, char kind, std::uint32_t code, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "\\%c%0*x", kind, digits, static_cast<unsigned>(code));
  to += text;
}

[[nodiscard]] std::string escaped(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const character c = first_of(text);
    if (c.size == 0) {
      append_escaped(shown, 'x', static_cast<unsigned char>(text.front()), 2);
    } else if (is_obeyed(c.code) && kept.find(text.front()) == std::string_view::npos) {
      append_escaped(shown, c.code < 0x80 ? 'x' : 'u', c.code, c.code < 0x80 ? 2 : 4);
    } else {
      shown.append(text.substr(0, c.size));
    }
    text.remove_prefix(c.size == 0 ? 1 : c.size);
  }
  return shown;
}

/// "note:" in yellow, anything else up to its colon in red.
[[nodiscard]] std::string with_colours(std::string_view lines) {
  std::string coloured;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, std::min(lines.find('\n'), lines.size() - 1) + 1);
    lines.remove_prefix(line.size());
    const std::size_t colon = line.starts_with(' ') ? std::string_view::npos : line.find(": ");
    if (colon != std::string_view::npos) {
      coloured.append(line.starts_with("note:") ? "\x1b[33m" : "\x1b[31m").append(line.substr(0, colon + 1));
      coloured.append("\x1b[0m");
    }
    coloured.append(line.substr(colon == std::string_view::npos ? 0 : colon + 1));
  }
  return coloured;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = first_of(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view text) {
  return escaped(text, {});
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string{text};
  // No character is cut in two.
  const auto is_inside = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80; };
  std::size_t begin = most * 3 / 4;
  while (begin > 0 && is_inside(begin)) --begin;
  std::size_t end = text.size() - most / 4;
  while (end < text.size() && is_inside(end)) ++end;
  std::string shown{text.substr(0, begin)};
  shown.append("... (")
      .append(std::to_string(end - begin))
      .append(" more bytes) ...")
      .append(text.substr(end));
  return shown;
}

bool shows_colours(int descriptor) {
  const auto is_set = [](const char* value) { return value != nullptr && *value != '\0'; };
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && !is_set(std::getenv("NO_COLOR")) && is_set(kind) &&
         std::string_view{kind} != "dumb";
}

std::size_t terminal_width(std::FILE* stream) noexcept {
  // Narrower ones have not been told how wide they are.
  constexpr std::size_t least = 20;
  constexpr std::size_t usual = 80;
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > least ? size.ws_col : usual;
}

void print_error(std::string_view text) {
  std::string shown = printable_lines(text);
  if (shows_colours(STDERR_FILENO)) shown = with_colours(shown);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

bool print_result(std::string_view text, std::string_view what) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return true;
  std::string problem = "standard output: ";
  problem.append(what).append(" could not be written");
  if (errno != 0) problem.append(": ").append(std::strerror(errno));
  print_error(problem + '\n');
  return false;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
