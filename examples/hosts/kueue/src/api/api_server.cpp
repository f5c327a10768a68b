// SPDX-License-Identifier: BSL-1.0
#include "api_server.hpp"

#include <algorithm>

namespace allot_kueue {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') ||
                          c == '-' || c == '.' || c == '_' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain) {
      encoded += c;
    } else {
      encoded.append(1, '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
  }
  return encoded;
}

std::string request::target() const {
  std::string text = path;
  char separator = '?';
  for (const auto& [key, value] : query) {
    text.append(1, std::exchange(separator, '&')).append(percent_encoded(key)).append(1, '=');
    text += percent_encoded(value);
  }
  return text;
}

std::vector<std::optional<response>> ask(api_server& server, std::vector<request> all, std::size_t at_once,
                                         const std::function<bool()>& goes_on) {
  std::vector<std::optional<response>> answers(all.size());
  std::vector<ticket> under_way;
  std::vector<std::size_t> numbers;
  bool is_on = true;
  for (std::size_t next = 0; next < all.size() || !under_way.empty();) {
    while (next < all.size() && under_way.size() < at_once) {
      is_on = is_on && goes_on();
      if (is_on) {
        under_way.push_back(server.submit(std::move(all[next])));
        numbers.push_back(next);
      }
      ++next;
    }
    server.await_any(under_way, [&] { is_on = goes_on() && is_on; });
    std::size_t left = 0;
    for (std::size_t i = 0; i < under_way.size(); ++i) {
      answers[numbers[i]] = server.take(under_way[i]);
      if (answers[numbers[i]]) continue;
      under_way[left] = under_way[i];
      numbers[left++] = numbers[i];
    }
    under_way.resize(left);
    numbers.resize(left);
  }
  return answers;
}

std::vector<response> ask(api_server& server, std::vector<request> all) {
  const std::size_t count = all.size();
  std::vector<response> answers;
  for (auto& a : ask(server, std::move(all), count, [] { return true; })) answers.push_back(std::move(*a));
  return answers;
}

response ask(api_server& server, request r) {
  std::vector<request> all(1);
  all.front() = std::move(r);
  return std::move(ask(server, std::move(all)).front());
}

}  // namespace allot_kueue
