// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/name_table.hpp>

#include <functional>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] std::uint32_t hash_of(std::string_view text) noexcept {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

}  // namespace

name_table::interned name_table::intern(std::string_view text) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t at = find_slot(text, hash);
  if (slots_[at].is_used()) return {name_id{slots_[at].name}, false};
  ALLOT_ASSERT(size() < std::numeric_limits<std::uint32_t>::max(), "a table holds fewer than 2^32 - 1 names");
  slots_[at] = {hash, static_cast<std::uint32_t>(size())};
  text_ += text;
  ends_.push_back(text_.size());
  return {name_id{size() - 1}, true};
}

name_id name_table::find(std::string_view text) const {
  if (slots_.empty()) return name_id::none();
  const slot& found = slots_[find_slot(text, hash_of(text))];
  return found.is_used() ? name_id{found.name} : name_id::none();
}

std::size_t name_table::find_slot(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].is_used() && (slots_[at].hash != hash || text_of(slots_[at].name) != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void name_table::grow() {
  std::vector<slot> larger(slots_.empty() ? 16 : 2 * slots_.size());
  const std::size_t mask = larger.size() - 1;
  for (const slot& s : slots_) {
    if (!s.is_used()) continue;
    std::size_t at = s.hash & mask;
    while (larger[at].is_used()) at = (at + 1) & mask;
    larger[at] = s;
  }
  slots_.swap(larger);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
