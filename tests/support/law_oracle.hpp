// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/ledger.hpp>
#include <allot/quota/spec.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace allot_test {

__extension__ using big = __int128;

/// The ledger law by its definition: every number is computed from the specification and the usage, from the
/// leaves up, on each call. It shares no code with the ledger except the specification.
///
/// Unlimited amounts have a size here, too large for any usage to matter. An inclusive quota without limit
/// has that much besides what its children are given, so that it can contain unlimited children, and the
/// sizes stay countable at any depth. It is compared with the ledger's numbers by `as_quantity`.
template <std::size_t N>
class law_oracle {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  explicit law_oracle(std::vector<allot::quota_spec<N>> specs, std::vector<bool> removed = {})
      : specs_(std::move(specs)),
        removed_(std::move(removed)),
        used_(specs_.size()),
        guaranteed_(specs_.size()) {
    removed_.resize(specs_.size());
    relate();
  }

  /// The specification changes, the usage does not. A removed quota must have no usage.
  void replace(std::vector<allot::quota_spec<N>> specs, std::vector<bool> removed) {
    specs_ = std::move(specs);
    removed_ = std::move(removed);
    used_.resize(specs_.size());
    guaranteed_.resize(specs_.size());
    relate();
  }
  [[nodiscard]] const std::vector<allot::quota_spec<N>>& specs() const { return specs_; }
  [[nodiscard]] const std::vector<bool>& removed() const { return removed_; }

  /// A negative amount releases.
  void add(std::size_t x, std::size_t d, std::int64_t milli, allot::capacity_kind l) {
    used_[x][d] += milli;
    if (l == allot::capacity_kind::guaranteed) guaranteed_[x][d] += milli;
  }
  [[nodiscard]] std::int64_t used(std::size_t x, std::size_t d) const { return used_[x][d]; }

  /// E(x): an inclusive quota has what is not assigned to its children.
  [[nodiscard]] big own_pool(std::size_t x, std::size_t d) const {
    big pool = nominal(x, d);
    if (specs_[x].inclusive) {
      for (const std::size_t c : children_[x]) pool -= given(c, d);
    }
    return pool;
  }
  /// S(x), in its recursive form.
  [[nodiscard]] big supply(std::size_t x, std::size_t d) const {
    big sum = own_pool(x, d);
    for (const std::size_t c : children_[x]) sum += std::min(lend(c, d), supply(c, d));
    return sum;
  }
  /// T(x) for all jobs, or for those of guaranteed capacity alone.
  [[nodiscard]] big balance(std::size_t x, std::size_t d,
                            allot::capacity_kind l = allot::capacity_kind::any) const {
    big sum = own_pool(x, d) - (l == allot::capacity_kind::any ? used_ : guaranteed_)[x][d];
    for (const std::size_t c : children_[x]) sum += std::min(lend(c, d), balance(c, d, l));
    return sum;
  }
  [[nodiscard]] big borrow(std::size_t x, std::size_t d) const {
    return specs_[x].is_static ? 0 : amount(specs_[x].borrow[d], specs_[x].nominal[d]);
  }
  [[nodiscard]] big lend(std::size_t x, std::size_t d) const {
    return specs_[x].is_static ? 0 : amount(specs_[x].lend[d], specs_[x].nominal[d]);
  }

  /// Of x alone, in one dimension. The guaranteed jobs must satisfy the law with every borrow limit at 0.
  [[nodiscard]] bool is_sound(std::size_t x, std::size_t d,
                              allot::capacity_kind l = allot::capacity_kind::any) const {
    const bool may_borrow = l == allot::capacity_kind::any && parent_[x] != none;
    return balance(x, d, l) >= (may_borrow ? -borrow(x, d) : 0);
  }
  [[nodiscard]] bool is_sound(std::size_t x) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (!is_sound(x, d)) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_sound() const {
    for (std::size_t x = 0; x < specs_.size(); ++x) {
      if (!removed_[x] && !is_sound(x)) return false;
    }
    return true;
  }

  /// Whether every quota on the path of x is sound in dimension d after `milli` more at x.
  [[nodiscard]] bool admits(std::size_t x, std::size_t d, std::int64_t milli, allot::capacity_kind l) {
    add(x, d, milli, l);
    bool sound = true;
    for (std::size_t a = x; a != none && sound; a = parent_[a]) {
      sound = is_sound(a, d) && (l == allot::capacity_kind::any || is_sound(a, d, l));
    }
    add(x, d, -milli, l);
    return sound;
  }
  /// The largest admissible amount, by bisection: `unlimited` if there is none. Precondition: 0 is
  /// admissible.
  [[nodiscard]] allot::quantity largest(std::size_t x, std::size_t d, allot::capacity_kind l) {
    std::int64_t low = 0;
    std::int64_t high = too_much;
    if (admits(x, d, high, l)) return allot::quantity::unlimited();
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (admits(x, d, middle, l) ? low : high) = middle;
    }
    return allot::quantity::milli(low);
  }

  [[nodiscard]] static allot::quantity as_quantity(big value) {
    return value >= too_much ? allot::quantity::unlimited()
                             : allot::quantity::milli(static_cast<std::int64_t>(value));
  }

 private:
  /// More than the sum of all bounded amounts of a test.
  static constexpr std::int64_t too_much = 1'000'000'000'000;
  static constexpr big plenty = big{too_much} * 1000;
  static constexpr big endless = big{too_much} * too_much * 1'000'000'000'000;

  using amounts = std::vector<std::array<std::int64_t, N>>;

  void relate() {
    parent_.assign(specs_.size(), none);
    children_.assign(specs_.size(), {});
    for (std::size_t x = 0; x < specs_.size(); ++x) {
      for (std::size_t p = 0; p < specs_.size(); ++p) {
        if (removed_[x] || removed_[p] || specs_[p].name != specs_[x].parent) continue;
        parent_[x] = p;
        children_[p].push_back(x);
      }
    }
  }
  [[nodiscard]] big nominal(std::size_t x, std::size_t d) const {
    const allot::quantity n = specs_[x].nominal[d];
    if (!n.is_unlimited()) return n.in_milli();
    big size = plenty;
    if (specs_[x].inclusive) {
      for (const std::size_t c : children_[x]) size += given(c, d);
    }
    return size;
  }
  /// The total nominal quota of the subtree, whether it exists or not.
  [[nodiscard]] big given(std::size_t x, std::size_t d) const {
    big sum = nominal(x, d);
    if (!specs_[x].inclusive) {
      for (const std::size_t c : children_[x]) sum += given(c, d);
    }
    return sum;
  }
  [[nodiscard]] static big amount(allot::limit l, allot::quantity nominal) {
    const allot::quantity q = l.of(nominal);
    return q.is_unlimited() ? endless : q.in_milli();
  }

  std::vector<allot::quota_spec<N>> specs_;
  std::vector<bool> removed_;
  std::vector<std::size_t> parent_;
  std::vector<std::vector<std::size_t>> children_;
  amounts used_;
  amounts guaranteed_;
};

}  // namespace allot_test
