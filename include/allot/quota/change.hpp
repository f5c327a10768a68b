// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {

/// New amounts for a quota; those not given stay unchanged.
template <std::size_t N>
struct resize_quota {
  /// The quota to resize.
  quota_id quota;
  /// What it owns from now on.
  std::optional<resources<N>> nominal{};
  /// What it lends at most from now on.
  std::optional<limits<N>> lend{};
  /// What it borrows at most from now on.
  std::optional<limits<N>> borrow{};
};
/// A new weight for a quota.
template <std::size_t N>
struct reweight_quota {
  /// The quota to reweight.
  quota_id quota;
  /// Its weight from now on.
  weights<N> weight{};
};
/// Adds the quota as the youngest.
template <std::size_t N>
struct add_quota {
  /// What to add; its parent must exist, also by an earlier change.
  quota_spec<N> spec;
};
/// Only a quota without jobs or children can be removed.
struct remove_quota {
  /// The quota to remove.
  quota_id quota;
};
/// Moves the whole subtree. Without a new parent the quota becomes a root.
struct move_quota {
  /// The quota to move.
  quota_id quota;
  /// The quota that it is moved below; none: nothing is above it.
  quota_id new_parent{};
};

/// One change of a quota tree: see `apply`.
template <std::size_t N>
using quota_change = std::variant<resize_quota<N>, reweight_quota<N>, add_quota<N>, remove_quota, move_quota>;

/// One that is known before it is made: see `scheduler::expect_changes`.
template <std::size_t N, class Time = instant>
struct expected_change {
  /// When it will be made. Those at one time are one transition.
  Time at{};
  /// What will change.
  quota_change<N> change;
};

namespace detail {

template <std::size_t N>
void amend(quota_spec<N>& s, const resize_quota<N>& by) {
  if (by.nominal) s.nominal = *by.nominal;
  if (by.lend) s.lend = *by.lend;
  if (by.borrow) s.borrow = *by.borrow;
}
template <std::size_t N>
void amend(quota_spec<N>& s, const reweight_quota<N>& by) {
  s.weight = by.weight;
}

/// What the changes make of the quotas that they concern, each named once. None if one of them concerns more
/// than amounts and the like, or no quota that there is.
template <std::size_t N>
[[nodiscard]] std::optional<vector<respecified_quota<N>>> respecified_by(
    std::span<const quota_change<N>> changes, std::span<const quota_spec<N>> specs,
    const vector<bool>& removed) {
  vector<respecified_quota<N>> all;
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  vector<std::size_t> places(specs.size(), none);
  const auto add = [&](const auto& c) {
    if constexpr (requires(quota_spec<N> & s) { amend(s, c); }) {
      if (c.quota.index() >= specs.size() || removed[c.quota.index()]) return false;
      std::size_t& place = places[c.quota.index()];
      if (place == none) {
        place = all.size();
        all.push_back({c.quota, specs[c.quota.index()]});
      }
      amend(all[place].spec, c);
      return true;
    } else {
      return false;
    }
  };
  for (const quota_change<N>& c : changes) {
    if (!std::visit(add, c)) return std::nullopt;
  }
  return all;
}

/// Quota specifications after some changes. So far it is only checked that the changes name existing quotas.
template <std::size_t N>
struct edited_quotas {
  vector<quota_spec<N>> specs;
  vector<bool> removed;
  vector<problem> problems{};

  void edit(std::span<const quota_change<N>> changes) {
    for (const quota_change<N>& c : changes) std::visit(*this, c);
  }

  void operator()(const resize_quota<N>& c) {
    if (is_known(c.quota)) amend(specs[c.quota.index()], c);
  }
  void operator()(const reweight_quota<N>& c) {
    if (is_known(c.quota)) amend(specs[c.quota.index()], c);
  }
  void operator()(const add_quota<N>& c) { specs.push_back(c.spec), removed.push_back(false); }
  void operator()(const remove_quota& c) {
    if (is_known(c.quota)) removed[c.quota.index()] = true;
  }
  void operator()(const move_quota& c) {
    if (!is_known(c.quota) || (c.new_parent && !is_known(c.new_parent))) return;
    specs[c.quota.index()].parent = c.new_parent ? specs[c.new_parent.index()].name : std::string{};
  }

 private:
  [[nodiscard]] bool is_known(quota_id x) {
    if (x.index() < specs.size() && !removed[x.index()]) return true;
    problems.push_back(
        {problem_code::unknown_quota,
         {},
         {},
         x ? "there is no quota with the id " + std::to_string(x.index()) : "a change names no quota"});
    return false;
  }
};

/// Calls `visit(quota)` for each quota of the tree that the changes remove.
template <std::size_t N, class Visit>
void for_each_removed(const quota_tree<N>& from, std::span<const quota_change<N>> changes, Visit visit) {
  for (const quota_change<N>& c : changes) {
    const auto* removal = std::get_if<remove_quota>(&c);
    if (removal != nullptr && from.contains(removal->quota)) visit(removal->quota);
  }
}

/// Another tree may add up usage that is counted separately in this one: the sum must be countable, too.
template <std::size_t N>
void check_usage(const ledger<N>& l, vector<problem>& problems) {
  exact_sum<N> all;
  for (const quota_id x : l.tree().top_down()) all += l.own_usage(x);
  const resources<N> sum = all.amount();
  for (std::size_t d = 0; d < N; ++d) {
    if (!sum[d].is_unlimited()) continue;
    problems.push_back({problem_code::out_of_range,
                        {},
                        {},
                        "the usage of all quotas is more than can be counted, so the tree can't change",
                        d});
  }
}

/// Adds the problems with the amounts of the ledger's quotas.
template <std::size_t N>
void check_amounts(const ledger<N>& l, vector<problem>& problems) {
  const auto supply_at = [&](quota_id x, std::size_t d) -> const supply& { return l.supply_of(x, d); };
  if (quota_checker<N>{l.tree().specs(), l.tree().removed(), problems}.check_new_amounts()) {
    quota_checker<N>::check_amounts(l.tree(), supply_at, problems);
  }
}

}  // namespace detail

/// Changes the tree while jobs run in it. The changes are one transition: only the resulting tree must be
/// valid, so moving 8 GPUs from one child to another is two resizes in either order.
/// Returns the quotas that then violate the law, parents first: a resize below current usage is not an error
/// but a state to recover from (by preemption, or by waiting). If the changes are not valid, or usage is so
/// large that another tree might not be able to count it, returns every problem and leaves the ledger
/// unchanged. Precondition: no open savepoint. O(n log n); if no quota is added, removed or moved, O(n) of
/// which little is done for each quota but those changed and those above them.
/// Call it qualified, `allot::apply(l, changes)`: with a vector, argument-dependent lookup prefers
/// std::apply.
template <std::size_t N>
result<vector<quota_id>> apply(ledger<N>& l, std::type_identity_t<std::span<const quota_change<N>>> changes) {
  const quota_tree<N>& tree = l.tree();
  vector<problem> problems;
  detail::for_each_removed<N>(tree, changes, [&](quota_id x) {
    if (l.own_usage(x) == resources<N>{quantity{}}) return;
    const std::string name{tree.name(x)};
    problems.push_back({problem_code::in_use, name, {}, name + " still has running jobs"});
  });
  detail::check_usage(l, problems);
  if (auto specs = detail::respecified_by<N>(changes, tree.specs(), tree.removed())) {
    l.exchange(*specs);
    detail::check_amounts(l, problems);
    if (!problems.empty()) {
      l.exchange(*specs);
      return problems;
    }
  } else {
    detail::edited_quotas<N> q{
        {tree.specs().begin(), tree.specs().end()}, tree.removed(), std::move(problems)};
    q.edit(changes);
    auto next = detail::checked_tree(std::move(q.specs), std::move(q.removed), std::move(q.problems));
    if (!next) return std::move(next).problems();
    l.replace_tree(std::move(next).value());
  }
  vector<quota_id> over;
  for (const quota_id x : l.tree().top_down()) {
    if (!l.is_sound(x)) over.push_back(x);
  }
  return over;
}
/// The same for one change.
template <std::size_t N>
result<vector<quota_id>> apply(ledger<N>& l, const std::type_identity_t<quota_change<N>>& change) {
  return allot::apply(l, std::span<const quota_change<N>>{&change, 1});
}

}  // namespace v0
}  // namespace allot
