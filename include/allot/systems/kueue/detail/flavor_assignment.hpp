// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/settings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// How far from its quota a job finds capacity: 0 in the quota itself, else the height of the lowest subtree
/// that owns what is requested (Kueue's borrowing level).
using loan_level = std::size_t;

/// The heights of the quotas of a tree: the distance to the furthest leaf below.
template <std::size_t N>
class quota_heights {
 public:
  void reset(const quota_tree<N>& tree) {
    heights_.assign(tree.slots(), 0);
    const auto order = tree.top_down();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const quota_id p = tree.parent(*it);
      if (p) heights_[p.index()] = std::max(heights_[p.index()], heights_[it->index()] + 1);
    }
  }

  [[nodiscard]] std::size_t of(quota_id x) const { return heights_[x.index()]; }

  struct loan {
    loan_level level = 0;
    /// Whether the subtree that owns it is not the whole tree, so that jobs outside it might be preempted.
    bool may_reclaim = false;
  };
  /// Where x finds `q` more of dimension d, even if others use it at the moment. O(depth).
  [[nodiscard]] loan lowest_with(const ledger<N>& l, quota_id x, std::size_t d, quantity q) const {
    const quota_tree<N>& tree = l.tree();
    if (!tree.parent(x)) return {0, false};
    if (q <= l.balance(x, d)) return {0, true};
    for (quota_id below = x;;) {
      q = l.passed_up(below, d, q);
      const quota_id above = tree.parent(below);
      const bool is_root = !tree.parent(above);
      if (is_root || q <= l.balance(above, d)) return {heights_[above.index()], !is_root};
      below = above;
    }
  }

 private:
  vector<std::size_t> heights_;
};

/// How a request could be met, worst first.
enum class fit_mode : std::uint8_t { no_fit, no_candidates, preempt, reclaim, fit };

/// The outcome of the choice of flavors, for a whole job.
template <std::size_t N>
struct flavor_assignment {
  /// `no_fit`; `preempt`: some dimensions need preemption, and it is open whether that helps; `fit`.
  fit_mode mode = fit_mode::no_fit;
  flavor_pick pick{};
  resources<N> request{};
  /// The dimensions that need preemption.
  std::array<bool, N> contested{};
  loan_level borrows = 0;
  /// The option each group starts with next time, if some were not tried (a preemption that looked possible
  /// stopped the search); 0 if all were.
  flavor_pick next{};
  [[nodiscard]] bool has_untried() const noexcept { return next != flavor_pick{}; }
};

/// The outcome of trying preemption in one dimension.
struct preemption_outlook {
  /// `no_candidates`; `preempt`: jobs of the same quota are among the victims; `reclaim`: none is.
  fit_mode mode = fit_mode::no_candidates;
  /// The level from which the job would borrow once they are gone.
  loan_level borrows = 0;
};

/// Constraints on a choice of flavors.
struct flavor_bounds {
  /// The first option of each group to be tried.
  flavor_pick from{};
  /// Only `from` is tried.
  bool pinned = false;
  /// Options, as bits, known to have no place now: they count as at best `preempt`; and those among them for
  /// which none can be made: they count as at best `no_candidates`.
  std::array<std::uint64_t, most_flavor_groups> no_place{};
  std::array<std::uint64_t, most_flavor_groups> no_victims{};
  /// The groups, as bits, that are the first of a set of pods.
  std::uint64_t set_starts = 0;
};

/// Chooses the flavors of a job (Kueue's flavor assigner). In each group of its resources the options are
/// tried in order, each judged by the worst of its dimensions, until one is good enough for the quota's
/// `flavor_choice`; otherwise the best is taken. Fit is better than reclaim, reclaim than preemption within
/// the quota, that than no candidates; then less borrowing is better. With `preemption_over_borrowing` less
/// borrowing comes first, but for options without candidates (as since kubernetes-sigs/kueue#13896).
/// Dimensions are tried one at a time.
///
/// `menu` is a `flavor_menu`, or empty for a view without flavors. `outlook(d, amount)` says whether
/// preemption would make room for that much of dimension d. It is called only where the rules allow it: the
/// quota's nominal covers the request, it could be reclaimed from outside, or the quota may preempt while it
/// borrows (`may_preempt_on_loan`).
template <std::size_t N, class Menu, class Outlook>
[[nodiscard]] flavor_assignment<N> assign_flavors(const ledger<N>& l, const quota_heights<N>& heights,
                                                  quota_id x, const resources<N>& base, const Menu& menu,
                                                  const flavor_choice& choice, bool may_preempt_on_loan,
                                                  const flavor_bounds& bounds, Outlook outlook) {
  struct grade {
    fit_mode mode = fit_mode::fit;
    loan_level borrows = 0;
  };
  // A loan may be worse than an eviction, but an eviction that can't be made is worse than both.
  const bool lends_last = choice.preference == flavor_preference::preemption_over_borrowing;
  const auto is_better = [&](const grade& a, const grade& b) {
    const bool is_possible = std::min(a.mode, b.mode) > fit_mode::no_candidates;
    if (lends_last && is_possible && a.borrows != b.borrows) return a.borrows < b.borrows;
    if (a.mode == fit_mode::no_fit && b.mode == fit_mode::no_fit) return false;
    return a.mode != b.mode ? a.mode > b.mode : a.borrows < b.borrows;
  };
  flavor_assignment<N> result;
  // One dimension of which other groups already request `already`.
  const auto judge = [&](std::size_t d, quantity already, quantity q) -> grade {
    const quantity all = already + q;
    if (all > l.potential(x, d) || all > l.countable(x, d)) return {fit_mode::no_fit, 0};
    const auto from = heights.lowest_with(l, x, d, all);
    if (all <= std::max(quantity{}, l.headroom(x, d))) return {fit_mode::fit, from.level};
    if (all > l.total_supply(x, d) && !from.may_reclaim && !may_preempt_on_loan) {
      return {fit_mode::no_fit, from.level};
    }
    const preemption_outlook seen = outlook(d, all);
    return {seen.mode, seen.borrows};
  };
  struct option_grade {
    grade worst{};
    loan_level borrows = 0;
    std::array<bool, N> contested{};
  };
  const auto judge_option = [&](const resources<N>& option) {
    option_grade g;
    for (std::size_t d = 0; d < N && g.worst.mode != fit_mode::no_fit; ++d) {
      if (option[d] == quantity{}) continue;
      const grade one = judge(d, result.request[d], option[d]);
      g.borrows = std::max(g.borrows, one.borrows);
      if (is_better(g.worst, one)) g.worst = one;
      g.contested[d] = one.mode != fit_mode::fit;
    }
    return g;
  };
  result.mode = fit_mode::fit;
  const auto accept = [&](const option_grade& g, const resources<N>& option) {
    result.request += option;
    result.borrows = std::max(result.borrows, g.borrows);
    for (std::size_t d = 0; d < N; ++d) {
      if (!g.contested[d]) continue;
      result.contested[d] = true;
      result.mode = fit_mode::preempt;
    }
  };

  for (std::size_t d = 0; d < N; ++d) {
    if (base[d] == quantity{}) continue;
    resources<N> alone;
    alone[d] = base[d];
    const option_grade g = judge_option(alone);
    if (g.worst.mode == fit_mode::no_fit) return {};
    accept(g, alone);
  }
  const auto tries_next = [&](const grade& g) {
    if (g.mode <= fit_mode::no_candidates) return true;
    if (g.mode != fit_mode::fit && choice.when_can_preempt == flavor_step::try_next) return true;
    return g.borrows > 0 && choice.when_can_borrow == flavor_step::try_next;
  };
  for (std::size_t group = 0; group < menu.groups(); ++group) {
    const auto options = menu.options(group);
    option_grade best;
    best.worst = {fit_mode::no_fit, std::numeric_limits<loan_level>::max()};
    std::size_t chosen = options.size();
    std::size_t tried = bounds.from[group];
    for (std::size_t i = tried; i < (bounds.pinned ? tried + 1 : options.size()); ++i) {
      tried = i;
      option_grade g = judge_option(options[i]);
      if (i < 64 && (bounds.no_place[group] >> i & 1) != 0 && g.worst.mode > fit_mode::preempt) {
        const bool is_hopeless = (bounds.no_victims[group] >> i & 1) != 0;
        g.worst.mode = is_hopeless ? fit_mode::no_candidates : fit_mode::preempt;
        for (std::size_t d = 0; d < N; ++d) g.contested[d] = options[i][d] > quantity{};
      }
      const bool stop = !tries_next(g.worst);
      if (stop || is_better(g.worst, best.worst)) {
        best = g;
        chosen = i;
      }
      if (stop) break;
    }
    if (chosen == options.size()) {
      // What was recorded of the sets before this one holds, as in Kueue.
      std::size_t set = group;
      while (set > 0 && (bounds.set_starts >> set & 1) == 0) --set;
      flavor_assignment<N> none;
      std::copy_n(result.next.begin(), set, none.next.begin());
      return none;
    }
    accept(best, options[chosen]);
    result.pick[group] = static_cast<std::uint8_t>(chosen);
    result.next[group] = static_cast<std::uint8_t>(tried + 1 == options.size() ? 0 : tried + 1);
  }
  return result;
}

}  // namespace v0
}  // namespace allot
