// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/flavored_share.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// When preempting a rival is fair. The shares are those of the two sides below the lowest common ancestor.
enum class share_rule : std::uint8_t {
  /// The beneficiary's share with the job is at most the victim's share without the victim (Kueue's
  /// LessThanOrEqualToFinalShare).
  final_share,
  /// It is less than the victim's share with the victim (LessThanInitialShare).
  initial_share,
};

/// Which rules are tried, in order. Kueue allows either alone, or `final_share` and then `initial_share`.
struct share_rules {
  share_rule first = share_rule::final_share;
  /// Whether rivals that the first rule protects are considered again, by the initial share; one job of each.
  bool then_initial = true;
};

/// Kueue's preemption with fair sharing: finds the preemption targets that make a request fit.
///
/// Candidates use a contested dimension: jobs of the same quota (`preempt.within`), and those of all quotas
/// in the tree that use more than they own (`preempt.reclaim`). The quota considered next is found from the
/// root down: the child with the highest share that still has candidates, and so on. Shares include the
/// request. A job of the same quota is preempted when the quota's turn comes; any other if the rule allows
/// it, or if the beneficiary's quota stays within what it owns with the request. Finally, targets that turned
/// out unnecessary are put back.
///
/// Shares are compared exactly or, with `float_shares`, as the floating-point numbers that they are in Kueue.
/// Among inner quotas with equal shares Kueue takes a random one (#10131); here the youngest is taken.
///
/// Kueue has jobs at its leaves only. Here the own jobs of a quota with children are a peer of the children;
/// no job takes from a quota above or below its own.
template <std::size_t N>
class fair_share_targets {
 public:
  explicit fair_share_targets(share_rules rules = {},
                              const resource_numbers<N>& resource_of = unflavored<N>(),
                              bool float_shares = false)
      : rules_(rules), shares_(resource_of, float_shares) {}

  /// Starts over on the ledger's tree. O(N n depth).
  void reset(const ledger<N>& l) {
    shares_.reset(l);
    seats_.assign(l.tree().slots(), seat{});
    mark_ = search_ = 0;
    known_ = 1;
  }
  /// Nothing is known of the ledger any more.
  void begin_cycle() noexcept { ++known_; }
  /// The ledger has changed at x.
  void record_change(const ledger<N>& l, quota_id x) { forget_shares(l, x); }
  [[nodiscard]] const flavored_shares<N>& shares() const noexcept { return shares_; }
  /// Whether a job that would borrow may preempt.
  [[nodiscard]] static constexpr bool may_preempt_on_loan(const preempt_settings& may) noexcept {
    return may.borrow != preempt_borrow::never || may.reclaim != preempt_reclaim::never;
  }

  /// As `hierarchical_reclaim::run`. O(own jobs + children of the quotas above) if nobody else has as high a
  /// share, as usual when all heads search again after a release. Otherwise, for each candidate considered,
  /// O(N depth + children of the quotas on the way down); the jobs of those quotas are sorted once a search.
  /// Shares are computed once until the ledger changes below: between calls of `begin_cycle` all changes of
  /// the ledger are noted.
  template <holding_jobs<N> Jobs, search_world<N> World>
  [[nodiscard]] bool run(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b,
                         const std::array<bool, N>& contested, World& world) {
    victims_.clear();
    if (b.may.within == preempt_within::never && b.may.reclaim == preempt_reclaim::never) return false;
    contested_ = contested;
    entries_.clear();
    touched_.clear();
    ++search_;
    l.charge(b.quota, b.request);
    forget_shares(l, b.quota);
    const bool found = ask(l, jobs, b, world);
    l.release(b.quota, b.request);
    detail::kueue_trial<N, World> trial{l, world, b};
    if (found) {
      trial.fill_back(victims_, true);
    } else {
      for (const victim<N>& v : victims_) trial.put_back(v.job);
      victims_.clear();
    }
    // The caller rolls back.
    forget_shares(l, b.quota);
    for (const quota_id x : touched_) forget_shares(l, x);
    return found;
  }

  /// The targets found by the last successful search.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct entry {
    candidate<N> who;
    /// The next candidate of the same quota.
    std::size_t next = none;
  };
  /// What is known of a quota. Values of an earlier round or search are void.
  struct seat {
    /// Its candidates that have not been considered yet.
    std::size_t first = none;
    std::size_t last = none;
    std::uint64_t listed = 0;
    /// The search in which its candidates were listed.
    std::uint64_t loaded = 0;
    /// The rounds in which its own jobs, and its children, were exhausted.
    std::uint64_t own_done = 0;
    std::uint64_t below_done = 0;
    /// `known_` if the shares are those of the ledger as it stands.
    std::uint64_t share_known = 0;
    std::uint64_t own_share_known = 0;
    borrowed_share share{};
    borrowed_share own_share{};
  };

  /// Lists the candidates of x, when its turn may have come for the first time in a search: so far no job of
  /// x or below has been taken, and what x uses is what it used before the search.
  template <class Jobs>
  void load(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, quota_id x) {
    seat& s = seats_[x.index()];
    if (s.loaded == search_) return;
    s.loaded = search_;
    const std::size_t first = entries_.size();
    if (x == b.quota) {
      if (b.may.within != preempt_within::never) add_jobs(jobs, b, x, relation::same_quota);
    } else if (b.may.reclaim != preempt_reclaim::never && !detail::is_within_supply(l, x, contested_)) {
      const quota_id common = l.tree().common_ancestor(x, b.quota);
      if (common != x && common != b.quota) add_jobs(jobs, b, x, relation::borrower);
    }
    detail::sort(
        entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end(),
        [&](const entry& e, const entry& f) { return compare_candidates(e.who, f.who, b.quota) < 0; });
    for (std::size_t i = first; i < entries_.size(); ++i) append(i);
  }
  template <class Jobs>
  void add_jobs(const Jobs& jobs, const beneficiary<N>& b, quota_id x, relation how) {
    jobs.for_each(x, [&](const candidate<N>& c) {
      if (may_take(b, c, how)) entries_.push_back({c});
    });
  }
  [[nodiscard]] bool may_take(const beneficiary<N>& b, const candidate<N>& c, relation how) const {
    return uses_any(c.job->request, contested_) && may_preempt(b, *c.job, how);
  }

  /// How the highest share beside the beneficiary's quota, or beside one above it, compares with the one that
  /// it is beside; less if nobody borrows there. O(children of the quotas above).
  [[nodiscard]] std::strong_ordering highest_beside(const ledger<N>& l, quota_id own) {
    const quota_tree<N>& tree = l.tree();
    auto highest = std::strong_ordering::less;
    for (quota_id x = own, above = tree.parent(own); above; x = above, above = tree.parent(above)) {
      for (const quota_id c : tree.children(above)) {
        if (c == x || !share(l, c).borrows) continue;
        const auto order = share(l, c) <=> share(l, x);
        if (order > 0) return order;
        if (order == 0) highest = order;
      }
    }
    return highest;
  }
  template <class Jobs>
  [[nodiscard]] bool may_take_own(const Jobs& jobs, const beneficiary<N>& b) const {
    bool any = false;
    jobs.for_each(b.quota, [&](const candidate<N>& c) { any = any || may_take(b, c, relation::same_quota); });
    return any;
  }

  /// Precondition: the request is charged. Takes out the victims; returns whether it fits in the end.
  template <class Jobs, class World>
  [[nodiscard]] bool ask(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, World& world) {
    const bool within_own = detail::is_within_supply(l, b.quota, contested_);
    // Most searches end here: no other share is as high, and an eviction only lowers shares.
    if (!within_own && highest_beside(l, b.quota) < 0 && !may_take_own(jobs, b)) return false;
    begin_round();
    again_.clear();
    spared_.clear();
    const auto look_up = [&](quota_id x) { load(l, jobs, b, x); };
    while (const quota_id x = next_donor(l, b.quota, look_up, !within_own)) {
      if (x == b.quota) {
        if (take(l, b, world, pop(x), relation::same_quota)) return true;
      } else if (within_own) {
        if (take(l, b, world, pop(x), relation::borrower)) return true;
      } else if (ask_rival(l, b, world, x)) {
        return true;
      }
    }
    if (rules_.first != share_rule::final_share || !rules_.then_initial) return false;
    if (within_own || highest_beside(l, b.quota) <= 0) return false;
    for (const quota_id above : spared_) list_spared(l, b.quota, above, look_up);
    begin_round();
    for (const std::size_t i : again_) append(i);
    while (const quota_id x = next_donor(
               l, b.quota, [](quota_id) {}, true)) {
      const auto [mine, theirs] = sides(l, b.quota, x);
      const std::size_t first = pop(x);
      if (share(l, mine) < share(l, theirs) && take(l, b, world, first, relation::rival)) {
        return true;
      }
      seats_[x.index()].own_done = mark_;
    }
    return false;
  }
  /// Considers the jobs of x in turn until one is preempted; the second rule may reconsider the others.
  template <class World>
  [[nodiscard]] bool ask_rival(ledger<N>& l, const beneficiary<N>& b, World& world, quota_id x) {
    const auto [mine, theirs] = sides(l, b.quota, x);
    const borrowed_share asker = share(l, mine);
    const borrowed_share before = share(l, theirs);
    const bool by_initial = rules_.first == share_rule::initial_share;
    // Shares only fall when a job goes.
    const bool hopeless = by_initial ? asker >= before : asker > before;
    while (has_candidates(x)) {
      const std::size_t i = pop(x);
      if (!hopeless && (by_initial || asker <= share_without(l, *entries_[i].who.job, theirs))) {
        return take(l, b, world, i, relation::rival);
      }
      again_.push_back(i);
    }
    return false;
  }
  [[nodiscard]] borrowed_share share_without(ledger<N>& l, const running_job<N>& j, quota_id theirs) const {
    const savepoint s = l.save();
    l.release(j.quota, j.request, j.in);
    const borrowed_share after = shares_.share_of(l, theirs);
    l.rollback(s);
    return after;
  }
  template <class World>
  [[nodiscard]] bool take(ledger<N>& l, const beneficiary<N>& b, World& world, std::size_t i, relation how) {
    const running_job<N>& j = *entries_[i].who.job;
    detail::kueue_trial<N, World> trial{l, world, b};
    trial.take(j);
    touched_.push_back(j.quota);
    forget_shares(l, j.quota);
    victims_.push_back({j, how});
    l.release(b.quota, b.request);
    const bool fits = trial.fits(true);
    l.charge(b.quota, b.request);
    return fits;
  }

  // The tournament.

  void begin_round() { ++mark_; }
  void append(std::size_t i) {
    seat& s = seats_[entries_[i].who.job->quota.index()];
    entries_[i].next = none;
    if (s.listed != mark_ || s.first == none) {
      s.first = i;
    } else {
      entries_[s.last].next = i;
    }
    s.last = i;
    s.listed = mark_;
  }
  [[nodiscard]] bool has_candidates(quota_id x) const {
    return seats_[x.index()].listed == mark_ && seats_[x.index()].first != none;
  }
  [[nodiscard]] std::size_t pop(quota_id x) {
    seat& s = seats_[x.index()];
    const std::size_t i = s.first;
    s.first = entries_[i].next;
    return i;
  }
  [[nodiscard]] const candidate<N>& head(quota_id x) const { return entries_[seats_[x.index()].first].who; }

  /// The children of the lowest common ancestor towards the beneficiary's quota and a candidate's.
  struct sides_of_ancestor {
    quota_id mine;
    quota_id theirs;
  };
  [[nodiscard]] static sides_of_ancestor sides(const ledger<N>& l, quota_id own, quota_id victim_candidate) {
    const quota_id ancestor = l.tree().common_ancestor(own, victim_candidate);
    return {l.tree().side_of(own, ancestor), l.tree().side_of(victim_candidate, ancestor)};
  }

  [[nodiscard]] const borrowed_share& share(const ledger<N>& l, quota_id x) {
    seat& s = seats_[x.index()];
    if (s.share_known != known_) s.share = shares_.share_of(l, x);
    s.share_known = known_;
    return s.share;
  }
  /// The share of x's own jobs.
  [[nodiscard]] const borrowed_share& seat_share(const ledger<N>& l, quota_id x) {
    if (l.tree().children(x).empty()) return share(l, x);
    seat& s = seats_[x.index()];
    if (s.own_share_known != known_) s.own_share = shares_.own_share_of(l, x);
    s.own_share_known = known_;
    return s.own_share;
  }
  void forget_shares(const ledger<N>& l, quota_id x) {
    for (quota_id a = x; a; a = l.tree().parent(a)) {
      seats_[a.index()].share_known = seats_[a.index()].own_share_known = 0;
    }
  }

  /// The quota whose first candidate is considered next; none if no candidate is left, or, if rivals are
  /// asked, none that could yield.
  template <class LookUp>
  [[nodiscard]] quota_id next_donor(const ledger<N>& l, quota_id own, LookUp look_up, bool asks_rivals) {
    const quota_tree<N>& tree = l.tree();
    if (!tree.parent(own) && tree.children(own).empty()) {
      look_up(own);
      return has_candidates(own) ? own : quota_id::none();
    }
    quota_id x = own;
    while (const quota_id p = tree.parent(x)) x = p;
    while (x && seats_[x.index()].below_done != mark_) {
      quota_id best_seat{};
      quota_id best_below{};
      consider_seat(l, own, x, best_seat, look_up);
      for (const quota_id c : tree.children(x)) {
        if (tree.children(c).empty()) {
          consider_seat(l, own, c, best_seat, look_up);
        } else if (seats_[c.index()].below_done != mark_) {
          consider_below(l, own, c, best_below);
        }
      }
      const bool below = best_below && (!best_seat || share(l, best_below) >= seat_share(l, best_seat));
      const quota_id best = below ? best_below : best_seat;
      const bool is_spared = best && asks_rivals && spares(l, own, x, best);
      if (best && !is_spared) {
        if (!below) return best;
        x = best;
        continue;
      }
      if (is_spared) spared_.push_back(x);
      // Above x, all is as it was on the way down.
      seats_[x.index()].below_done = mark_;
      x = tree.parent(x);
    }
    return {};
  }
  /// Whether x, with that child next, is above the beneficiary's quota and has nobody left who could yield:
  /// the beneficiary's side came before, and no other has a higher share.
  [[nodiscard]] bool spares(const ledger<N>& l, quota_id own, quota_id x, quota_id next) {
    const quota_id mine = l.tree().side_of(own, x);
    return mine && next != mine && share(l, next) < share(l, mine);
  }
  /// Lists the candidates of x and below that were spared, for the second rule.
  template <class LookUp>
  void list_spared(const ledger<N>& l, quota_id own, quota_id x, LookUp look_up) {
    const auto list_own = [&](quota_id y) {
      quota_id found{};
      consider_seat(l, own, y, found, look_up);
      while (found && has_candidates(y)) again_.push_back(pop(y));
    };
    list_own(x);
    for (const quota_id c : l.tree().children(x)) {
      if (l.tree().children(c).empty()) {
        list_own(c);
      } else if (seats_[c.index()].below_done != mark_) {
        quota_id found{};
        consider_below(l, own, c, found);
        if (found) list_spared(l, own, c, look_up);
      }
    }
  }
  /// Considers x's own jobs.
  template <class LookUp>
  void consider_seat(const ledger<N>& l, quota_id own, quota_id x, quota_id& best, LookUp look_up) {
    seat& s = seats_[x.index()];
    if (s.own_done == mark_) return;
    look_up(x);
    if (!has_candidates(x) || (x != own && !seat_share(l, x).borrows)) {
      s.own_done = mark_;
      return;
    }
    const auto order = best ? seat_share(l, x) <=> seat_share(l, best) : std::strong_ordering::greater;
    if (order > 0 || (order == 0 && compare_candidates(head(x), head(best), own) < 0)) best = x;
  }
  /// Considers what is below x.
  void consider_below(const ledger<N>& l, quota_id own, quota_id x, quota_id& best) {
    if (!share(l, x).borrows && l.tree().common_ancestor(x, own) != x) {
      seats_[x.index()].below_done = mark_;
      return;
    }
    if (!best || share(l, x) >= share(l, best)) best = x;
  }

  share_rules rules_;
  flavored_shares<N> shares_;
  std::array<bool, N> contested_{};
  vector<entry> entries_;
  /// The candidates that the first rule protected, in the order in which they were considered.
  vector<std::size_t> again_;
  /// The quotas below which it protects all that are left.
  vector<quota_id> spared_;
  vector<seat> seats_;
  vector<victim<N>> victims_;
  /// The quotas that the search has taken jobs of.
  vector<quota_id> touched_;
  std::uint64_t mark_ = 0;
  std::uint64_t search_ = 0;
  std::uint64_t known_ = 1;
};

}  // namespace v0
}  // namespace allot
