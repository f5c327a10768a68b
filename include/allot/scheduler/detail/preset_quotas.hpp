// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/preset.hpp>

#include <cstddef>
#include <optional>
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
    if (rules_.ignores_quotas) {
      auto all = build_quota_tree(std::move(quotas));
      if (!all) return std::move(all).problems();
      quotas = {one_queue(all.value(), are_there_nodes)};
    }
    if (adapts()) given_ = quotas;
    const std::size_t count = quotas.size();
    return tree_of({std::move(quotas), vector<bool>(count)});
  }
  /// If the changes leave the structure of the tree `now` as it is: what becomes of those of its quotas that
  /// change. The changes count as made until `undo`. None: see `changed`.
  [[nodiscard]] std::optional<vector<respecified_quota<N>>> respecified(
      const quota_tree<N>& now, std::span<const quota_change<N>> changes) {
    if (!adapts()) return respecified_by<N>(changes, now.specs(), now.removed());
    auto of_given = respecified_by<N>(changes, given_, now.removed());
    if (!of_given) return std::nullopt;
    replaced_ = std::move(*of_given);
    exchange_given();
    vector<respecified_quota<N>> all;
    auto next = adapted(given_, now.removed()).begin();
    for (std::size_t i = 0; i < now.slots(); ++i) {
      if (now.removed()[i]) continue;
      const quota_spec<N>& before = now.specs()[i];
      quota_spec<N>& s = *next++;
      if (s == before) continue;
      if (s.name != before.name || s.parent != before.parent) {
        exchange_given();
        return std::nullopt;
      }
      all.push_back({quota_id{i}, std::move(s)});
    }
    return all;
  }
  /// Takes back the changes of the last call of `respecified`.
  void undo() { exchange_given(); }
  /// The tree after changes to `now`, or every problem with them, in addition to `problems`.
  [[nodiscard]] result<quota_tree<N>> changed(const quota_tree<N>& now,
                                              std::span<const quota_change<N>> changes,
                                              vector<problem> problems) {
    const std::span<const quota_spec<N>> given = adapts() ? given_ : now.specs();
    edited_quotas<N> next{{given.begin(), given.end()}, now.removed(), std::move(problems)};
    next.edit(changes);
    vector<quota_spec<N>> kept;
    if (adapts()) kept = next.specs;
    auto tree = tree_of(std::move(next));
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
  void exchange_given() {
    for (respecified_quota<N>& r : replaced_) std::swap(given_[r.quota.index()], r.spec);
  }
  /// Whether the tree is not the host's.
  [[nodiscard]] bool adapts() const noexcept { return rules_.adapt != nullptr && !rules_.ignores_quotas; }
  /// What the preset makes of those quotas that are not removed, in their order. Valid until the next call.
  [[nodiscard]] std::vector<quota_spec<N>>& adapted(std::span<const quota_spec<N>> quotas,
                                                    const vector<bool>& removed) {
    adapted_.resize(quotas.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < quotas.size(); ++i) {
      if (!removed[i]) adapted_[count++] = quotas[i];
    }
    adapted_.resize(count);
    rules_.adapt(adapted_);
    return adapted_;
  }
  [[nodiscard]] result<quota_tree<N>> tree_of(edited_quotas<N>&& quotas) {
    if (adapts()) {
      auto next = adapted(quotas.specs, quotas.removed).begin();
      for (std::size_t i = 0; i < quotas.specs.size(); ++i) {
        if (!quotas.removed[i]) quotas.specs[i] = std::move(*next++);
      }
    }
    return checked_tree(std::move(quotas.specs), std::move(quotas.removed), std::move(quotas.problems));
  }

  quota_rules<N> rules_{};
  /// The quotas as given, if a preset adapts them.
  vector<quota_spec<N>> given_{};
  /// Those of them that the last change replaced, as they were before.
  vector<respecified_quota<N>> replaced_{};
  /// Kept for its memory.
  std::vector<quota_spec<N>> adapted_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
