// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/fairshare/winner_trees.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {

/// The least that the pending jobs of one or more quotas request, per dimension; and whether one of them may
/// get more than is free because other jobs may be preempted.
template <std::size_t N>
struct pending_minimum {
  /// Zero: unknown.
  resources<N> least{};
  /// Bit d: a job may be given room in dimension d by preemption.
  std::uint64_t reclaims = ~std::uint64_t{0};

  /// What no job requests: the minimum of an empty set of jobs.
  [[nodiscard]] static pending_minimum of_none() noexcept { return {resources<N>{quantity::unlimited()}, 0}; }
  /// Whether some job may reclaim dimension `d`, so that its own quota's bound does not exclude it.
  [[nodiscard]] bool may_reclaim(std::size_t d) const noexcept { return ((reclaims >> d) & 1U) != 0; }
  /// Says that some job may reclaim dimension `d`.
  void add_reclaim(std::size_t d) noexcept { reclaims |= std::uint64_t{1} << d; }

  friend pending_minimum operator|(pending_minimum a, const pending_minimum& b) noexcept {
    for (std::size_t d = 0; d < N; ++d) a.least[d] = std::min(a.least[d], b.least[d]);
    a.reclaims |= b.reclaims;
    return a;
  }
};

/// Chooses the next job to try: at every inner quota the children (and its own jobs) compete, each child
/// represented by the best pending job of its subtree; the winner of the root's match is tried next.
///
/// Each quota keeps its match as a winner tree. When a quota's head or usage changes, only the path above it
/// is rekeyed and only that path's matches are replayed: O(sum over the path of log children), without
/// allocation.
///
/// A quota does not take part if no job of its subtree can be admitted because even the least request there
/// is more than its own bound leaves. So when the cluster is full no job is tried in vain, however many are
/// pending, and freed capacity brings up the job whose turn it is.
template <std::size_t N, quota_order<N> Order>
class tournament {
 public:
  /// What the order returns for a contender.
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const contender<N>&>()));

  explicit tournament(Order order = {}) : order_(std::move(order)) {}

  /// Starts over on a tree, with no job pending. O(n).
  void reset(const quota_tree<N>& tree) {
    seats_.assign(tree.slots(), seat{});
    matches_.reset(tree, 1,
                   [&](quota_id x, std::size_t, std::size_t player) { seats_[x.index()].player = player; });
    pending_.assign(matches_.nodes(), pending_minimum<N>::of_none());
  }

  /// `x` has a pending job: its best one requests `request` and ranks as `head`.
  void enter(const ledger<N>& l, quota_id x, const resources<N>& request, const job_rank& head) {
    enter(l, x, request, head, pending_minimum<N>{});
  }
  /// The quota's own jobs take part, or have changed: `head` is the best, `request` what it asks, `of_jobs`
  /// the least that any of them asks. O(depth log children).
  void enter(const ledger<N>& l, quota_id x, const resources<N>& request, const job_rank& head,
             const pending_minimum<N>& of_jobs) {
    enrol(x, request, head, of_jobs);
    replay(l, x);
  }
  /// The same, but no match is played before the next `refresh_all`: for many quotas at once. O(1).
  void enrol(quota_id x, const resources<N>& request, const job_rank& head,
             const pending_minimum<N>& of_jobs) {
    seat& s = seats_[x.index()];
    s.waits = true;
    s.request = request;
    s.head = head;
    s.own_jobs = of_jobs;
  }
  /// x's own jobs no longer take part. Like `enter`, must also be called when only the usage of x has
  /// changed: its subtree may compete on behalf of other jobs.
  void leave(const ledger<N>& l, quota_id x) {
    seats_[x.index()].waits = false;
    replay(l, x);
  }

  /// Rekeys all quotas. Must be called when data that the order uses has changed, other than the usage below
  /// a quota on the path of a later `enter` or `leave`: entitlements, a history, ranks or exhausted
  /// resources, for example. O(n).
  void refresh_all(const ledger<N>& l) {
    const quota_tree<N>& tree = l.tree();
    const auto order = tree.top_down();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const quota_id x = *it;
      key_own_jobs(l, x);
      seat_at(x.index(), 0, seats_[x.index()].own_jobs, seats_[x.index()].waits);
      play_all(tree, x);
      represent(l, x);
      const seat& s = seats_[x.index()];
      seat_at(match_below(tree.parent(x)), s.player, arriving_minimum(l, x), !s.best.is_none());
    }
    play_all(tree, quota_id::none());
  }

  /// The order, to change the data it uses; then call `refresh_all`.
  [[nodiscard]] Order& order() noexcept { return order_; }
  /// The order by which it decides.
  [[nodiscard]] const Order& order() const noexcept { return order_; }

  /// The quota whose best own job is next, none if no job is pending. O(1).
  [[nodiscard]] quota_id best(const quota_tree<N>& tree) const {
    const std::size_t w = matches_.winner(matches_.of_roots());
    return w == winner_trees::none ? quota_id::none() : seats_[tree.roots()[w].index()].best;
  }

 private:
  /// A quota, as the holder of its own jobs and as a player in the match of its parent.
  struct seat {
    bool waits = false;
    resources<N> request{};
    job_rank head{};
    key own_key{};
    /// The quota whose own job represents the subtree, none if no job is pending there.
    quota_id best{};
    /// The part of that job's request that reaches this quota.
    resources<N> arriving{};
    key child_key{};
    pending_minimum<N> own_jobs{};
    std::size_t player = 0;
  };
  void key_own_jobs(const ledger<N>& l, quota_id x) {
    seat& own = seats_[x.index()];
    if (own.waits) own.own_key = order_(l, contender<N>{x, true, own.request, own.head, x, own.request});
  }

  void replay(const ledger<N>& l, quota_id x) {
    const quota_tree<N>& tree = l.tree();
    key_own_jobs(l, x);
    const seat& own = seats_[x.index()];
    play(tree, x, 0, own.waits ? own.own_jobs : pending_minimum<N>::of_none(), own.waits);
    for (quota_id child = x;;) {
      represent(l, child);
      const seat& s = seats_[child.index()];
      const quota_id p = tree.parent(child);
      const bool takes_part = !s.best.is_none();
      play(tree, p, s.player, takes_part ? arriving_minimum(l, child) : pending_minimum<N>::of_none(),
           takes_part);
      if (!p) return;
      child = p;
    }
  }

  // In the match of a quota, player 0 is its own jobs and player i + 1 its child i; none denotes the match
  // of the roots.

  [[nodiscard]] std::size_t match_below(quota_id x) const { return x ? x.index() : matches_.of_roots(); }
  void play(const quota_tree<N>& tree, quota_id of, std::size_t player, const pending_minimum<N>& with,
            bool takes_part) {
    const std::size_t m = match_below(of);
    pending_[matches_.leaf(m, player)] = with;
    matches_.play(m, player, takes_part, earlier(tree, of), merged());
  }
  void play_all(const quota_tree<N>& tree, quota_id of) {
    matches_.play_all(match_below(of), earlier(tree, of), merged());
  }
  void seat_at(std::size_t m, std::size_t player, const pending_minimum<N>& with, bool takes_part) {
    matches_.seat(m, player, takes_part);
    pending_[matches_.leaf(m, player)] = takes_part ? with : pending_minimum<N>::of_none();
  }
  [[nodiscard]] auto earlier(const quota_tree<N>& tree, quota_id of) const {
    const std::size_t own_jobs = of ? 1 : 0;
    return [this, of, own_jobs, players = of ? tree.children(of) : tree.roots()](std::size_t a,
                                                                                 std::size_t b) {
      const auto key_of = [&](std::size_t i) -> const key& {
        return i < own_jobs ? seats_[of.index()].own_key : seats_[players[i - own_jobs].index()].child_key;
      };
      const key& x = key_of(a);
      const key& y = key_of(b);
      return x < y || (a < b && !(y < x));
    };
  }
  [[nodiscard]] auto merged() {
    return [this](std::size_t node, std::size_t left, std::size_t right) {
      pending_[node] = pending_[left] | pending_[right];
    };
  }

  /// What the jobs of the subtree of c request of the quotas above it.
  [[nodiscard]] pending_minimum<N> arriving_minimum(const ledger<N>& l, quota_id c) const {
    pending_minimum<N> p = pending_[matches_.final(c.index())];
    for (std::size_t d = 0; d < N; ++d) {
      const quantity balance = l.balance(c, d);
      if (p.least[d] <= balance) p.add_reclaim(d);
      p.least[d] = l.passed_up(c, d, p.least[d]);
    }
    return p;
  }
  /// Whether c's own bound excludes every job.
  [[nodiscard]] bool is_inadmissible(const ledger<N>& l, quota_id c) const {
    const pending_minimum<N>& p = pending_[matches_.final(c.index())];
    for (std::size_t d = 0; d < N; ++d) {
      if (p.least[d] > quantity{} && p.least[d] > l.room(c, d) && !p.may_reclaim(d)) return true;
    }
    return false;
  }

  /// Makes the winner of c's match the representative of c's subtree.
  void represent(const ledger<N>& l, quota_id c) {
    seat& s = seats_[c.index()];
    const std::size_t w = matches_.winner(c.index());
    if (w == winner_trees::none || is_inadmissible(l, c)) {
      s.best = quota_id::none();
      return;
    }
    if (w == 0) {
      s.best = c;
      s.arriving = s.request;
    } else {
      const quota_id below = l.tree().children(c)[w - 1];
      const seat& from = seats_[below.index()];
      s.best = from.best;
      for (std::size_t d = 0; d < N; ++d) s.arriving[d] = l.passed_up(below, d, from.arriving[d]);
    }
    const seat& job = seats_[s.best.index()];
    s.child_key = order_(l, contender<N>{c, false, s.arriving, job.head, s.best, job.request});
  }

  vector<seat> seats_;
  winner_trees matches_;
  /// The minimum over all players below a node of a winner tree.
  vector<pending_minimum<N>> pending_;
  [[no_unique_address]] Order order_;
};

}  // namespace v0
}  // namespace allot
