// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {

/// Entitlements in whole gangs: a share too small for any gang of a quota is of no use to it (Koordinator's
/// proposal 20240115 gives up dividing for that reason).
///
/// Each quota specifies the size of its gangs. Its exact entitlement f (of `division`, by any rule) is
/// rounded to whole gangs, or to all that it wants:
/// 1. Down. A quota that wants no more than f gets that; one without a gang size keeps f.
/// 2. The rest goes to the quotas rounded down, a gang each where the ledger law allows it: first those that
///    would have less than their own, then the largest remainder in gangs, then the older quota.
/// 3. What is then left is too little for any quota that is still short. Rather than idle it goes, gang by
///    gang, to the other quotas that want more: the least excess over f in gangs first, then the older quota;
///    last, what is too small for any gang, to quotas without a gang size.
///
/// So (s the gang size, g the result): g > f - s for every quota. All results together satisfy the law:
/// nothing is given twice, no limit is exceeded. No quota that wants another gang would find room for it. And
/// in one pool without limits g < f + s + m, where m is the smallest gang that a quota is short of (zero, so
/// g < f + s, if none is).
///
/// Gangs are too coarse for monotonicity: more capacity may cost a quota a gang.
/// O((n log n + gangs of step 3) depth); buffers are reused.
template <std::size_t N = 1>
class whole_gangs {
 public:
  /// For the tree of `l`, ignoring usage. `by_priority`: in steps 2 and 3 higher-priority quotas come first.
  explicit whole_gangs(const ledger<N>& l, bool by_priority = false) : by_priority_(by_priority) { reset(l); }

  /// Must be called when the tree has changed. O(n).
  void reset(const ledger<N>& l) {
    books_ = ledger<N>{l.tree()};
    books_.reserve(4 * l.tree().slots());
  }

  /// `exact.own(x)` is the entitlement of the own jobs of x, out of `demand[x]`; `gang[x]` is the size of its
  /// gangs, zero in a dimension (or in all) where they do not matter.
  template <class Entitlements>
  void update(std::span<const resources<N>> demand, const Entitlements& exact,
              std::span<const resources<N>> gang) {
    const quota_tree<N>& tree = books_.tree();
    ALLOT_ASSERT(demand.size() == tree.slots() && gang.size() == tree.slots(), "one for each quota");
    seats_.assign(tree.slots(), seat{});
    own_.assign(tree.slots(), resources<N>{});
    unsatisfied_.clear();
    const savepoint start = books_.save();
    for (const quota_id x : tree.top_down()) round_down(x, demand[x.index()], exact.own(x), gang[x.index()]);
    round_up();
    use_the_rest();
    books_.rollback(start);
  }

  /// The entitlement of the own jobs of x, in whole gangs.
  [[nodiscard]] const resources<N>& own(quota_id x) const { return own_[x.index()]; }

 private:
  struct seat {
    resources<N> wants{};
    resources<N> exact{};
    resources<N> gang{};
    bool has_gangs = false;
  };

  void round_down(quota_id x, const resources<N>& wants, const resources<N>& exact,
                  const resources<N>& gang) {
    seat& s = seats_[x.index()];
    s = {wants, exact, gang, gang != resources<N>{}};
    resources<N>& given = own_[x.index()] = exact;
    if (exact != wants) unsatisfied_.push_back(x);
    if (exact != wants && s.has_gangs) {
      std::int64_t gangs = quantity::unlimited().in_milli();
      for (std::size_t d = 0; d < N; ++d) {
        if (gang[d] > quantity{}) gangs = std::min(gangs, exact[d].in_milli() / gang[d].in_milli());
      }
      for (std::size_t d = 0; d < N; ++d) {
        if (gang[d] > quantity{}) given[d] = gang[d] * gangs;
      }
    }
    books_.charge(x, given);
  }

  /// What x could use next: a gang, or what is left of its wants.
  [[nodiscard]] resources<N> piece(quota_id x) const {
    const seat& s = seats_[x.index()];
    resources<N> more = s.wants - own_[x.index()];
    for (std::size_t d = 0; d < N; ++d) {
      if (s.has_gangs) more[d] = std::min(more[d], s.gang[d]);
    }
    return more;
  }
  bool give_if_it_fits(quota_id x, const resources<N>& more) {
    if (more == resources<N>{} || !books_.fits(x, more)) return false;
    books_.charge(x, more);
    own_[x.index()] += more;
    return true;
  }

  /// Whether it was rounded down, and not up again: it has less than f wherever gangs matter. (Where they
  /// matter in several dimensions, f need not be in the proportions of a gang, and one dimension is the
  /// scarce one.)
  [[nodiscard]] bool is_short(quota_id x) const {
    const seat& s = seats_[x.index()];
    for (std::size_t d = 0; d < N; ++d) {
      if (s.gang[d] > quantity{} && own_[x.index()][d] >= s.exact[d]) return false;
    }
    return s.has_gangs;
  }
  [[nodiscard]] bool has_less_than_its_own(quota_id x) const {
    const seat& s = seats_[x.index()];
    for (std::size_t d = 0; d < N; ++d) {
      if (own_[x.index()][d] < std::min(s.exact[d], books_.supply_of(x, d).own_pool)) return true;
    }
    return false;
  }
  /// What it lacks of f, in gangs, in the scarcest dimension.
  [[nodiscard]] ratio remainder(quota_id x) const {
    ratio least = ratio::infinite();
    for_each_gang_dimension(x, [&](quantity exact, quantity given, quantity gang) {
      if (given < exact) least = std::min(least, fraction(exact - given, gang));
    });
    return least;
  }
  /// What it has beyond f, in gangs, where that is most.
  [[nodiscard]] ratio excess(quota_id x) const {
    ratio most;
    for_each_gang_dimension(x, [&](quantity exact, quantity given, quantity gang) {
      if (given > exact) most = std::max(most, fraction(given - exact, gang));
    });
    return most;
  }
  [[nodiscard]] static ratio fraction(quantity part, quantity gang) {
    return {static_cast<wide>(part.in_milli()), static_cast<wide>(gang.in_milli())};
  }
  template <class Visit>
  void for_each_gang_dimension(quota_id x, Visit visit) const {
    const seat& s = seats_[x.index()];
    for (std::size_t d = 0; d < N; ++d) {
      if (s.gang[d] > quantity{}) visit(s.exact[d], own_[x.index()][d], s.gang[d]);
    }
  }

  struct turn {
    quota_id quota;
    std::int32_t priority = 0;
    bool is_owed = false;
    ratio gangs{};
  };
  [[nodiscard]] std::int32_t priority_of(quota_id x) const {
    return by_priority_ ? books_.tree().spec(x).priority : 0;
  }

  void round_up() {
    turns_.clear();
    for (const quota_id x : unsatisfied_) {
      if (is_short(x)) {
        turns_.push_back({x, priority_of(x), has_less_than_its_own(x), remainder(x)});
      }
    }
    detail::sort(turns_.begin(), turns_.end(), [](const turn& a, const turn& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.is_owed != b.is_owed) return a.is_owed;
      if (const auto o = a.gangs <=> b.gangs; o != 0) return o > 0;
      return a.quota < b.quota;
    });
    for (const turn& t : turns_) give_if_it_fits(t.quota, piece(t.quota));
  }

  void use_the_rest() {
    const auto later = [](const turn& a, const turn& b) {
      if (a.priority != b.priority) return a.priority < b.priority;
      if (const auto o = a.gangs <=> b.gangs; o != 0) return o > 0;
      return a.quota > b.quota;
    };
    const auto turn_of = [&](quota_id x) { return turn{x, priority_of(x), false, excess(x)}; };
    turns_.clear();
    for (const quota_id x : unsatisfied_) {
      if (seats_[x.index()].has_gangs && !is_short(x)) turns_.push_back(turn_of(x));
    }
    detail::make_heap(turns_.begin(), turns_.end(), later);
    while (!turns_.empty()) {
      detail::pop_heap(turns_.begin(), turns_.end(), later);
      const quota_id x = turns_.back().quota;
      turns_.pop_back();
      // What does not fit now never will.
      if (!give_if_it_fits(x, piece(x))) continue;
      turns_.push_back(turn_of(x));
      detail::push_heap(turns_.begin(), turns_.end(), later);
    }
    for (const quota_id x : unsatisfied_) {
      if (seats_[x.index()].has_gangs) continue;
      const resources<N> room = books_.headroom(x);
      resources<N> more = piece(x);
      for (std::size_t d = 0; d < N; ++d) more[d] = std::clamp(room[d], quantity{}, more[d]);
      give_if_it_fits(x, more);
    }
  }

  /// What all quotas have been given; empty between updates.
  ledger<N> books_{quota_tree<N>{{}}};
  bool by_priority_;
  vector<seat> seats_;
  vector<resources<N>> own_;
  vector<quota_id> unsatisfied_;
  vector<turn> turns_;
};

}  // namespace v0
}  // namespace allot
