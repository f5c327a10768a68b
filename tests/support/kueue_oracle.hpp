// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/spec.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot_test {

/// Kueue's resource tree as in its code: usage beyond the local quota bubbles up, and available() is also
/// defined in states of overuse. One dimension; additive quotas with bounded nominal quotas.
class kueue_oracle {
 public:
  explicit kueue_oracle(const std::vector<allot::quota_spec<1>>& specs) : nodes_(specs.size()) {
    for (std::size_t x = 0; x < specs.size(); ++x) {
      node& n = nodes_[x];
      const auto amount = [&](allot::limit l) {
        const allot::quantity q = l.of(specs[x].nominal[0]);
        return q.is_unlimited() ? no_limit : q.in_milli();
      };
      n.lending = specs[x].is_static ? 0 : amount(specs[x].lend[0]);
      n.borrowing = specs[x].is_static ? 0 : amount(specs[x].borrow[0]);
      for (std::size_t p = 0; p < specs.size(); ++p) {
        if (specs[p].name == specs[x].parent) n.parent = p, nodes_[p].children.push_back(x);
      }
      n.nominal = specs[x].nominal[0].in_milli();
    }
    for (std::size_t x = 0; x < specs.size(); ++x) {
      if (nodes_[x].parent == none) fill(x);
    }
  }

  void add_usage(std::size_t x, std::int64_t v) {
    node& n = nodes_[x];
    const std::int64_t local = std::max<std::int64_t>(0, n.local_quota - n.usage);
    n.usage += v;
    if (n.parent != none && v > local) add_usage(n.parent, v - local);
  }
  void remove_usage(std::size_t x, std::int64_t v) {
    node& n = nodes_[x];
    const std::int64_t stored_in_parent = n.usage - n.local_quota;
    n.usage -= v;
    if (n.parent != none && stored_in_parent > 0) remove_usage(n.parent, std::min(v, stored_in_parent));
  }
  /// The amount that may be added at x; negative when a quota above is overused.
  [[nodiscard]] std::int64_t available(std::size_t x) const {
    const node& n = nodes_[x];
    if (n.parent == none) return n.subtree_quota - n.usage;
    std::int64_t parent_available = available(n.parent);
    if (n.borrowing != no_limit) {
      const std::int64_t stored_in_parent = n.subtree_quota - n.local_quota;
      const std::int64_t used_in_parent = std::max<std::int64_t>(0, n.usage - n.local_quota);
      parent_available = std::min(stored_in_parent - used_in_parent + n.borrowing, parent_available);
    }
    return std::max<std::int64_t>(0, n.local_quota - n.usage) + parent_available;
  }
  /// The amount that may be used at x when everything is idle.
  [[nodiscard]] std::int64_t potential(std::size_t x) const {
    const node& n = nodes_[x];
    if (n.parent == none) return n.subtree_quota;
    const std::int64_t most = n.local_quota + potential(n.parent);
    return n.borrowing == no_limit ? most : std::min(most, n.subtree_quota + n.borrowing);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::int64_t no_limit = -1;

  struct node {
    std::int64_t nominal = 0;
    std::int64_t lending = no_limit;
    std::int64_t borrowing = no_limit;
    std::int64_t subtree_quota = 0;
    std::int64_t local_quota = 0;
    std::int64_t usage = 0;
    std::size_t parent = none;
    std::vector<std::size_t> children{};
  };

  void fill(std::size_t x) {
    node& n = nodes_[x];
    n.subtree_quota = n.nominal;
    for (const std::size_t c : n.children) {
      fill(c);
      n.subtree_quota += nodes_[c].subtree_quota - nodes_[c].local_quota;
    }
    n.local_quota = n.lending == no_limit ? 0 : std::max<std::int64_t>(0, n.subtree_quota - n.lending);
  }

  std::vector<node> nodes_;
};

}  // namespace allot_test
