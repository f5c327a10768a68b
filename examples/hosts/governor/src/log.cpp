// SPDX-License-Identifier: BSL-1.0
#include "governor/src/log.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace allot_governor {

std::string escaped(std::string_view text) {
  const auto is_plain = [](char c) { return '!' <= c && c <= '~' && c != '"' && c != '\\' && c != '='; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string{text};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte > 0x7e) {
      quoted.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string time_text(std::int64_t ms) {
  const std::time_t t = ms / 1000;
  std::tm local{};
  localtime_r(&t, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local)};
}

void decision_log::operator()(std::string_view word, fields values) {
  std::string line = time_text(now_);
  line.append(1, ' ').append(word);
  for (const auto& [key, value] : values) {
    if (!value.empty()) line.append(1, ' ').append(key).append(1, '=').append(escaped(value));
  }
  to_(line);
  last_.push_back(std::move(line));
  if (last_.size() > most_kept) last_.pop_front();
}

void failed_calls::log(decision_log& to, std::string_view word, std::string_view call,
                       const std::string& why) {
  if (told_.size() >= most_told || !told_.insert(std::string{call} + ' ' + why).second) return;
  to(word, {{"call", std::string{call}}, {"failed", why}, {"why", "said once for each reason"}});
}

}  // namespace allot_governor
