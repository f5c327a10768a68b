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

std::vector<response> ask(api_server& server, std::vector<request> all,
                          const std::function<void()>& meanwhile) {
  std::vector<ticket> tickets;
  tickets.reserve(all.size());
  for (request& r : all) tickets.push_back(server.submit(std::move(r)));
  server.await(tickets, meanwhile);
  std::vector<response> answers;
  answers.reserve(all.size());
  for (const ticket t : tickets) answers.push_back(server.take(t).value());
  return answers;
}

response ask(api_server& server, request r) {
  std::vector<request> all(1);
  all.front() = std::move(r);
  return std::move(ask(server, std::move(all)).front());
}

}  // namespace allot_kueue
