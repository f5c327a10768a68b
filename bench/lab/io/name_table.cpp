// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/name_table.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A set of names that stores the hashes of their texts, so that growing does not read the texts.
struct name_table::index {
  struct entry {
    std::uint32_t hash;
    std::uint32_t name;
  };
  /// A text to look up, which may or may not be in the table.
  struct wanted {
    wanted(const name_table& table, std::string_view looked_for) : names(table), text(looked_for) {
      const std::uint64_t h = std::hash<std::string_view>{}(text);
      hash = static_cast<std::uint32_t>(h ^ (h >> 32U));
    }

    const name_table& names;
    std::string_view text;
    std::uint32_t hash;
  };
  struct hash_of {
    using is_transparent = void;

    std::size_t operator()(const entry& e) const noexcept { return e.hash; }
    std::size_t operator()(const wanted& w) const noexcept { return w.hash; }
  };
  struct same_text {
    using is_transparent = void;

    bool operator()(const entry& a, const entry& b) const noexcept { return a.name == b.name; }
    bool operator()(const wanted& w, const entry& e) const {
      return e.hash == w.hash && w.names.text_of(e.name) == w.text;
    }
    bool operator()(const entry& e, const wanted& w) const { return (*this)(w, e); }
  };

  boost::unordered_flat_set<entry, hash_of, same_text> entries;
};

name_table::name_table() noexcept = default;
name_table::name_table(const name_table& other)
    : text_(other.text_),
      ends_(other.ends_),
      index_(other.index_ ? std::make_unique<index>(*other.index_) : nullptr) {}
name_table::name_table(name_table&& other) noexcept
    : text_(std::exchange(other.text_, {})),
      ends_(std::exchange(other.ends_, {})),
      index_(std::move(other.index_)) {}
name_table& name_table::operator=(const name_table& other) {
  return *this = name_table{other};
}
name_table& name_table::operator=(name_table&& other) noexcept {
  text_ = std::exchange(other.text_, {});
  ends_ = std::exchange(other.ends_, {});
  index_ = std::move(other.index_);
  return *this;
}
name_table::~name_table() = default;

name_table::interned name_table::intern(std::string_view text) {
  if (!index_) index_ = std::make_unique<index>();
  const index::wanted wanted{*this, text};
  const auto found = index_->entries.find(wanted);
  if (found != index_->entries.end()) return {name_id{found->name}, false};
  ALLOT_ASSERT(size() < std::numeric_limits<std::uint32_t>::max(), "a table holds fewer than 2^32 - 1 names");
  index_->entries.insert({wanted.hash, static_cast<std::uint32_t>(size())});
  text_ += text;
  ends_.push_back(text_.size());
  return {name_id{size() - 1}, true};
}

name_id name_table::find(std::string_view text) const {
  if (!index_) return name_id::none();
  const auto found = index_->entries.find(index::wanted{*this, text});
  return found == index_->entries.end() ? name_id::none() : name_id{found->name};
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
