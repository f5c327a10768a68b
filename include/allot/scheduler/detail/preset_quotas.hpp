// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/preset.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {

/// The quotas as a host gives and changes them, and the tree that a preset makes of them each time. Without a
/// preset the tree is the host's.
template <std::size_t N>
class preset_quotas {
 public:
  preset_quotas() = default;
  explicit preset_quotas(const quota_rules<N>& rules) : rules_(rules) {}

  [[nodiscard]] const quota_rules<N>& rules() const noexcept { return rules_; }

  /// The first tree, or every problem with the quotas. A preset that ignores quotas gets a single quota,
  /// unbounded or, if there are no nodes to bound it, with what the quotas have together.
  [[nodiscard]] result<quota_tree<N>> begin(std::vector<quota_spec<N>> quotas, bool are_there_nodes) {
    given_ = std::move(quotas);
    if (rules_.ignores_quotas) {
      const auto all = build_quota_tree(std::move(given_));
      if (!all) return all.problems();
      given_ = {one_queue(all.value(), are_there_nodes)};
    }
    return checked_tree(adapted({given_, std::vector<bool>(given_.size())}));
  }
  /// The tree after changes to `now`, or every problem with them, in addition to `problems`.
  [[nodiscard]] result<quota_tree<N>> changed(const quota_tree<N>& now,
                                              std::span<const quota_change<N>> changes,
                                              std::vector<problem> problems) {
    if (rules_.ignores_quotas) return now;
    const std::span<const quota_spec<N>> given = rules_.adapt == nullptr ? now.specs() : given_;
    edited_quotas<N> next{{given.begin(), given.end()}, now.removed(), std::move(problems)};
    next.edit(changes);
    std::vector<quota_spec<N>> kept;
    if (rules_.adapt != nullptr) kept = next.specs;
    auto tree = checked_tree(adapted(std::move(next)));
    if (tree) given_ = std::move(kept);
    return tree;
  }

 private:
  [[nodiscard]] static quota_spec<N> one_queue(const quota_tree<N>& of, bool are_there_nodes) {
    quota_spec<N> cluster{.name = "cluster", .nominal = resources<N>{quantity::unlimited()}};
    if (are_there_nodes || of.roots().empty()) return cluster;
    cluster.nominal = {};
    const ledger<N> l{of};
    for (const quota_id root : of.roots()) {
      for (std::size_t d = 0; d < N; ++d) cluster.nominal[d] += l.total_supply(root, d);
    }
    return cluster;
  }
  /// What the preset makes of the quotas that are not removed.
  [[nodiscard]] edited_quotas<N> adapted(edited_quotas<N> quotas) const {
    if (rules_.adapt == nullptr || rules_.ignores_quotas) return quotas;
    std::vector<quota_spec<N>> there;
    for (std::size_t i = 0; i < quotas.specs.size(); ++i) {
      if (!quotas.removed[i]) there.push_back(std::move(quotas.specs[i]));
    }
    rules_.adapt(there);
    auto next = there.begin();
    for (std::size_t i = 0; i < quotas.specs.size(); ++i) {
      if (!quotas.removed[i]) quotas.specs[i] = std::move(*next++);
    }
    return quotas;
  }

  quota_rules<N> rules_{};
  /// The quotas as given, if a preset adapts them.
  std::vector<quota_spec<N>> given_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
