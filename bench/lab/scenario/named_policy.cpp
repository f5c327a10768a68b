// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>
#include <allot/lab/named_policy.hpp>

#include "lab/io/errors.hpp"
#include "lab/io/terminal.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The policies of this program that are not the library's. A deque, because they are referred to.
std::deque<own_policy>& added_policies() {
  static std::deque<own_policy> added;
  return added;
}

[[nodiscard]] bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string add_policy(const own_policy& own) {
  if (!is_name(own.name)) {
    return "a policy can't be named \"" + std::string{own.name} +
           "\": expected lower-case letters, digits and underscores";
  }
  if (named_policy::find(own.name)) return "there is already a policy \"" + std::string{own.name} + '"';
  added_policies().push_back(own);
  return {};
}

std::optional<named_policy> named_policy::find(std::string_view wanted) {
  if (auto preset = any_preset::find(wanted)) return named_policy{std::move(*preset)};
  for (const own_policy& own : added_policies()) {
    if (own.name == wanted) return named_policy{own};
  }
  return std::nullopt;
}

std::optional<bool> named_policy::judges_rivals() const {
  if (own_ == nullptr) return preset_->judges_rivals();
  return parts_.chooses_any() ? parts_.judges_rivals() : own_->judges_rivals();
}

bool named_policy::choose(const named_parts& parts) {
  if (own_ == nullptr) return preset_->choose(parts);
  if (parts.chooses_any() && !takes_parts) return false;
  parts_ = parts;
  return true;
}

vector<named_policy> all_policies() {
  vector<named_policy> all;
  for_each_preset([&](auto p) { all.emplace_back(any_preset{p}); });
  for (const own_policy& own : added_policies()) all.emplace_back(own);
  return all;
}

int detail::complain_of_policy(const std::string& why) {
  print_error("allot: " + why + '\n');
  return bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
