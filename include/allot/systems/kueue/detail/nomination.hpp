// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/systems/kueue/detail/borrowing_heads.hpp>
#include <allot/systems/kueue/detail/flavor_assignment.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// The outcome for the head of a quota in one cycle.
enum class entry_outcome : std::uint8_t {
  /// Neither free capacity nor preemption would make it fit.
  no_fit,
  /// Preemption would be needed, but there are no candidates.
  no_candidates,
  /// An earlier head took what it needed.
  passed_over,
  /// It waits for the victims of other heads.
  deferred,
  preempts,
  admitted,
};

/// What a cycle finds of a head.
template <class Session>
struct cycle_entry : cycle_head {
  static constexpr std::size_t n = Session::n;

  flavor_assignment<n> chosen{};
  vector<victim<n>> victims{};
  entry_outcome outcome = entry_outcome::no_fit;
  typename Session::place where{};
  std::uint32_t pods = 1;
};

/// Nominates the heads of one cycle, each by itself: which flavors, at what cost, and which preemption
/// targets. It reads a ledger in which jobs being evicted still count, and leaves it unchanged.
///
/// With a placement, jobs being evicted keep their places during a cycle too, so that a place found is
/// available now. A job that its quota allows but that has no place is treated as Kueue treats one without a
/// topology: the flavor counts as one that needs preemption, and the next may do; if none does, victims are
/// sought in all dimensions it requests, until it has a place.
template <class Session, class Policies>
class nominations {
 public:
  static constexpr std::size_t n = Session::n;
  using entry = cycle_entry<Session>;
  using record = typename Session::record;

  explicit nominations(const Policies& policies)
      : search_(policies.template search<n>()), tries_other_flavors_(policies.preserve_scan_progress) {}

  void reset(Session& session) {
    heights_.reset(session.tree());
    search_.reset(session.books().allocated());
  }

  /// To be called before the first nomination of a cycle, with the ledger that it is about.
  void begin(Session& session, ledger<n>& books) {
    books_ = &books;
    ++cycle_;
    claimed_ = without_claimed_ = false;
    search_.begin_cycle();
    leaving_.clear();
    for (const job_id id : session.jobs().evicting()) {
      const record& r = session.jobs().at(id);
      leaving_.push_back({r.facts.quota, &r.facts});
      if constexpr (placed) session.books().places.reoccupy(r.where);
    }
    detail::sort(leaving_.begin(), leaving_.end(), [](const auto& a, const auto& b) {
      return std::pair{a.first, a.second->id} < std::pair{b.first, b.second->id};
    });
  }
  /// Whether a job like that one, of plain request, has a place as the cycle began, if nothing was taken
  /// since.
  [[nodiscard]] bool has_place_for(Session& session, job_id id) {
    return has_place(session, session.jobs().at(id), {});
  }
  /// Whether the head, the first of x, can only borrow from the root of its tree: it has one choice, its
  /// quota owns too little of all that it requests, and preempts nobody for what it lacks.
  [[nodiscard]] bool only_borrows(Session& session, quota_id x, const record& r) const {
    const ledger<n>& l = session.books().allocated();
    const quota_id above = l.tree().parent(x);
    if (!above || l.tree().parent(above) || !l.tree().children(x).empty()) return false;
    const preempt_settings& may = session.queues().settings(x).preempt;
    if (search_.may_preempt_on_loan(may) || (may_preempt(may) && !by_quota_alone(session))) return false;
    if (!r.menu.empty() || r.facts.elastic || !l.can_count(x, r.facts.request)) return false;
    if constexpr (elastic) {
      const auto [least, most] = shown::pods(session.view(), r.what);
      if (least < most) return false;
    }
    bool borrows = false;
    for (std::size_t d = 0; d < n; ++d) {
      if (r.facts.request[d] == quantity{} || l.total_supply(x, d).is_unlimited()) continue;
      if (r.facts.request[d] <= l.total_supply(x, d)) return false;
      borrows = true;
    }
    return borrows;
  }
  /// How far from its quota such a head finds capacity.
  [[nodiscard]] loan_level level_of(quota_id root) const { return heights_.of(root); }

  /// To be called after the last one: restores the places, except those of admitted jobs.
  void end([[maybe_unused]] Session& session) {
    books_ = nullptr;
    if constexpr (placed) {
      for (; !reserved_.empty(); reserved_.pop_back())
        session.books().places.release(reserved_.back()->where);
      for (; !vacated_.empty(); vacated_.pop_back())
        session.books().places.reoccupy(session.jobs().at(vacated_.back()).where);
      for (const job_id id : session.jobs().evicting())
        session.books().places.vacate(session.jobs().at(id).where);
    }
  }
  /// The victim is claimed to a head: it counts as gone for all later nominations. The ledger is the
  /// caller's to change.
  void claim(const victim<n>& v) {
    const std::size_t i = v.job.id.index();
    if (i >= gone_in_.size()) gone_in_.resize(std::max(i + 1, 2 * gone_in_.size()));
    gone_in_[i] = cycle_;
    claimed_ = true;
  }
  [[nodiscard]] bool is_claimed(job_id id) const {
    return id.index() < gone_in_.size() && gone_in_[id.index()] == cycle_;
  }
  /// The ledger has changed at x.
  void record_change(quota_id x) { search_.record_change(*books_, x); }

  /// Determines what the head would be given once all claimed victims are gone, with the same flavors.
  void nominate_again(Session& session, entry& e) {
    flavor_bounds bounds;
    bounds.from = e.chosen.pick;
    bounds.pinned = true;
    without_claimed_ = true;
    nominate(session, e, bounds);
    without_claimed_ = false;
  }
  /// Determines what the head would be given. An elastic job that can't have all its pods gets as many as it
  /// can have, found by bisection as in Kueue, though fitting need not be monotonic in the number of pods.
  void nominate(Session& session, entry& e, flavor_bounds bounds) {
    const record& r = session.jobs().at(e.job);
    bounds.set_starts = set_starts_of(session, r);
    e.pods = r.facts.pods;
    if constexpr (elastic) {
      const auto [least, most] = shown::pods(session.view(), r.what);
      if (least < most) return nominate_part(session, e, r, bounds, least, most);
    }
    judge(session, e, r, bounds);
  }

  /// Takes the place of a decided entry: of an admitted one for good, else for this cycle, as if its victims
  /// were gone. Returns false, having changed nothing, if others took it. The entry must stay where it is.
  [[nodiscard]] bool take_place(Session& session, entry& e) {
    if constexpr (placed) {
      if (e.victims.empty()) return take_free_place(session, e);
      auto& places = session.books().places;
      for (const victim<n>& v : e.victims) places.vacate(session.jobs().at(v.job.id).where);
      if (const auto at = places.place(pod_request_of(session, e))) {
        e.where = *at;
        reserved_.push_back(&e);
        for (const victim<n>& v : e.victims) vacated_.push_back(v.job.id);
        return true;
      }
      for (std::size_t i = e.victims.size(); i-- > 0;)
        places.reoccupy(session.jobs().at(e.victims[i].job.id).where);
      return false;
    } else {
      e.where = {};
      return true;
    }
  }

  /// Makes the entry's flavors those of its job.
  void choose(Session& session, const entry& e) {
    const record& r = session.jobs().at(e.job);
    if constexpr (elastic) {
      const auto [least, most] = shown::pods(session.view(), r.what);
      if (least < most) session.settle_for(r, e.pods);
    }
    session.choose(r, e.chosen.pick);
  }

 private:
  using shown = detail::view_or_default<typename Session::view_type>;
  static constexpr bool elastic = elastic_view<typename Session::view_type>;
  /// How many combinations of flavors are tried for a place.
  static constexpr std::size_t most_picks = 256;
  static constexpr bool placed = !std::same_as<typename Session::pod_request, no_placement::pod_request>;

  /// The jobs that hold something now, except those left out.
  struct holders {
    const running_index<n>& running;
    std::span<const std::pair<quota_id, const running_job<n>*>> leaving;
    const nominations& of;

    template <class Visit>
    void for_each(quota_id x, Visit visit) const {
      for (const running_job<n>& j : running.jobs_of(x)) show(j, false, visit);
      if (leaving.empty()) return;
      auto at = std::lower_bound(leaving.begin(), leaving.end(), x,
                                 [](const auto& l, quota_id q) { return l.first < q; });
      for (; at != leaving.end() && at->first == x; ++at) show(*at->second, true, visit);
    }
    [[nodiscard]] bool any_leaving() const { return !leaving.empty(); }
    [[nodiscard]] bool is_gone(job_id id) const { return of.is_claimed(id); }

   private:
    template <class Visit>
    void show(const running_job<n>& j, bool is_leaving, Visit& visit) const {
      if (!is_gone(j.id)) visit(candidate<n>{&j, is_leaving});
    }
  };
  /// The places as the search changes them.
  struct trial_places {
    Session& session;
    const typename Session::pod_request& pod_request;

    void take_off(const running_job<n>& j) { session.books().places.vacate(session.jobs().at(j.id).where); }
    void put_back(const running_job<n>& j) { session.books().places.reoccupy(session.jobs().at(j.id).where); }
    [[nodiscard]] bool could_place() { return allot::could_place(session.books().places, pod_request); }
  };
  /// What trying preemption in one dimension found.
  struct trial {
    std::size_t dimension;
    quantity amount;
    std::size_t first;
    std::size_t count;
  };

  [[nodiscard]] beneficiary<n> beneficiary_of(Session& session, const record& r,
                                              const resources<n>& request) {
    return {r.facts.quota,    request,           capacity_kind::any,
            r.facts.priority, r.facts.submitted, session.queues().settings(r.facts.quota).preempt,
            session.now(),    r.facts.id};
  }
  [[nodiscard]] holders holders_of(Session& session) const {
    return {session.books().running(), leaving_, *this};
  }

  /// Returns whether the head could start, now or once its victims are gone.
  bool judge(Session& session, entry& e, const record& r, flavor_bounds bounds) {
    e.victims.clear();
    for (;;) {
      assign(session, e, r, bounds);
      if (e.chosen.mode == fit_mode::no_fit) return false;
      if (e.chosen.mode == fit_mode::fit) {
        if (has_place(session, r, e.chosen.pick)) return true;
        if (tries_other_flavors_) {
          if (fits_with_others(session, e, r, bounds)) return true;
          if (exclude(r, e.chosen.pick, bounds, bounds.no_place)) continue;
        }
        e.chosen.mode = fit_mode::preempt;
      }
      // A job in the way of a place may use nothing that the quota lacks.
      if (!by_quota_alone(session)) {
        for (std::size_t d = 0; d < n; ++d) e.chosen.contested[d] = e.chosen.request[d] > quantity{};
      }
      find_victims(session, e, r);
      if (!e.victims.empty()) return true;
      if (!has_excluded(r, e.chosen.pick, bounds)) return false;
      if (!exclude(r, e.chosen.pick, bounds, bounds.no_victims)) return false;
    }
  }
  void nominate_part(Session& session, entry& e, const record& r, const flavor_bounds& bounds,
                     std::uint32_t least, std::uint32_t most) {
    e.pods = most;
    if (judge(session, e, session.jobs().part_of(r, most), bounds)) return;
    const flavor_assignment<n> whole = e.chosen;
    flavor_assignment<n> best;
    best_victims_.clear();
    const std::uint32_t steps = most - least;
    std::uint32_t fewest = steps + 1;
    for (std::uint32_t from = 0; from < fewest;) {
      const std::uint32_t middle = from + (fewest - from) / 2;
      if (judge(session, e, session.jobs().part_of(r, pods_after(session, r, middle, steps)), bounds)) {
        fewest = middle;
        best = e.chosen;
        std::swap(best_victims_, e.victims);
      } else {
        from = middle + 1;
      }
    }
    const bool found = fewest <= steps;
    e.chosen = found ? best : whole;
    e.pods = found ? pods_after(session, r, fewest, steps) : most;
    e.victims.clear();
    if (found) std::swap(e.victims, best_victims_);
  }
  /// The pods of an elastic job after so many of all steps in which its sets lose pods, each of them evenly
  /// until it has its minimum. Each set then has as many as when the job grows to that number.
  [[nodiscard]] static std::uint32_t pods_after(const Session& session, const record& r, std::uint32_t step,
                                                std::uint32_t steps) {
    std::uint64_t pods = 0;
    for (std::size_t s = 0; s < shown::sets(session.view(), r.what); ++s) {
      const auto [least, most] = shown::pods(session.view(), r.what, s);
      pods += most - std::uint64_t{most - least} * step / steps;
    }
    return static_cast<std::uint32_t>(pods);
  }
  [[nodiscard]] typename Session::pod_request pod_request_of(Session& session, const entry& e) const {
    const record& r = session.jobs().at(e.job);
    if constexpr (elastic) {
      if (r.facts.pods != e.pods) {
        const record part = session.jobs().part_of(r, e.pods);
        return session.jobs().pod_request_of(part, e.chosen.pick);
      }
    }
    return session.jobs().pod_request_of(r, e.chosen.pick);
  }

  void assign(Session& session, entry& e, const record& r, const flavor_bounds& bounds) {
    trials_.clear();
    found_.clear();
    const queue_settings& settings = session.queues().settings(e.quota);
    e.chosen = assign_flavors(*books_, heights_, e.quota, r.base, r.menu, settings.flavors,
                              search_.may_preempt_on_loan(settings.preempt), bounds,
                              [&](std::size_t d, quantity q) { return outlook(session, r, d, q); });
  }
  /// The groups of flavors, as bits, that are the first in which a set of pods requests anything.
  [[nodiscard]] static std::uint64_t set_starts_of([[maybe_unused]] const Session& session,
                                                   [[maybe_unused]] const record& r) {
    std::uint64_t starts = 0;
    using view_type = typename Session::view_type;
    if constexpr (pod_set_view<view_type> && flavored_view<view_type>) {
      const std::size_t sets = r.menu.groups() > 1 ? shown::sets(session.view(), r.what) : 1;
      for (std::size_t s = 0; sets > 1 && s < sets; ++s) {
        const auto of_set = session.view().flavors(r.what, pod_set_id{s});
        std::size_t group = 0;
        while (group < of_set.groups() && of_set.options(group).front() == resources<n>{}) ++group;
        if (group < of_set.groups()) starts |= std::uint64_t{1} << group;
      }
    }
    return starts;
  }
  /// Kueue's preemption oracle: considers one dimension alone, by quota alone.
  [[nodiscard]] preemption_outlook outlook(Session& session, const record& r, std::size_t d, quantity q) {
    ledger<n>& l = *books_;
    if (!r.may_preempt()) {
      preemption_outlook none;
      none.borrows = heights_.lowest_with(l, r.facts.quota, d, q).level;
      return none;
    }
    resources<n> request;
    std::array<bool, n> contested{};
    request[d] = q;
    contested[d] = true;
    detail::no_world<n> nowhere;
    const savepoint s = l.save();
    preemption_outlook seen;
    const bool found =
        search_.run(l, holders_of(session), beneficiary_of(session, r, request), contested, nowhere);
    seen.borrows = heights_.lowest_with(l, r.facts.quota, d, q).level;
    l.rollback(s);
    if (!found) return seen;
    const auto victims = search_.victims();
    const bool own = detail::any_of(victims.begin(), victims.end(),
                                    [&](const victim<n>& v) { return v.job.quota == r.facts.quota; });
    seen.mode = own ? fit_mode::preempt : fit_mode::reclaim;
    trials_.push_back({d, q, found_.size(), victims.size()});
    found_.append(victims.begin(), victims.end());
    return seen;
  }

  void find_victims(Session& session, entry& e, const record& r) {
    if (!r.may_preempt()) return;
    if (const trial* t = by_quota_alone(session) ? same_trial(e) : nullptr) {
      const auto first = found_.begin() + static_cast<std::ptrdiff_t>(t->first);
      e.victims.assign(first, first + static_cast<std::ptrdiff_t>(t->count));
      return;
    }
    ledger<n>& l = *books_;
    const savepoint s = l.save();
    auto p = session.books().places.save();
    const auto b = beneficiary_of(session, r, e.chosen.request);
    bool found = false;
    if (by_quota_alone(session)) {
      detail::no_world<n> nowhere;
      found = search_.run(l, holders_of(session), b, e.chosen.contested, nowhere);
    } else {
      const typename Session::pod_request pod_request = session.jobs().pod_request_of(r, e.chosen.pick);
      trial_places world{session, pod_request};
      found = search_.run(l, holders_of(session), b, e.chosen.contested, world);
    }
    session.books().places.rollback(std::move(p));
    l.rollback(s);
    if (found) e.victims.assign(search_.victims().begin(), search_.victims().end());
  }
  /// Whether every job has a place.
  [[nodiscard]] static bool by_quota_alone(Session& session) {
    return !detail::placement_or_default::has_nodes(session.books().places);
  }
  /// The trial that already answered this search, if only quotas count: the request has one dimension. Null
  /// if no such trial found victims.
  [[nodiscard]] const trial* same_trial(const entry& e) const {
    const trial* same = nullptr;
    for (std::size_t d = 0; d < n; ++d) {
      if (e.chosen.request[d] == quantity{}) continue;
      if (same != nullptr || !e.chosen.contested[d]) return nullptr;
      for (const trial& t : trials_) {
        if (t.dimension == d && t.amount == e.chosen.request[d]) same = &t;
      }
      if (same == nullptr) return nullptr;
    }
    return same;
  }

  /// Takes a place that nobody is leaving. Those that wait for their victims may have to go elsewhere for
  /// that, if there is room for all of them.
  [[nodiscard]] bool take_free_place(Session& session, entry& e) {
    auto& places = session.books().places;
    const auto request = pod_request_of(session, e);
    const auto take = [&](const auto& at) {
      if (!at || !places.ready(*at)) return false;
      e.where = *at;
      return true;
    };
    auto before = places.save();
    if (take(places.place(request))) {
      places.commit(std::move(before));
      return true;
    }
    places.rollback(std::move(before));
    if (reserved_.empty()) return false;
    before = places.save();
    for (const entry* w : reserved_) places.release(w->where);
    for (const job_id id : vacated_) places.reoccupy(session.jobs().at(id).where);
    bool has = take(places.place(request));
    for (const job_id id : vacated_) places.vacate(session.jobs().at(id).where);
    moved_.clear();
    for (std::size_t i = 0; has && i < reserved_.size(); ++i) {
      const auto at = places.place(pod_request_of(session, *reserved_[i]));
      has = at.has_value();
      if (has) moved_.push_back(*at);
    }
    if (!has) {
      places.rollback(std::move(before));
      return false;
    }
    places.commit(std::move(before));
    for (std::size_t i = 0; i < reserved_.size(); ++i) reserved_[i]->where = moved_[i];
    return true;
  }
  /// Whether a place is available now or, when claimed victims are left out, once they are gone.
  [[nodiscard]] bool has_place(Session& session, const record& r, const flavor_pick& pick) {
    if constexpr (placed) {
      auto& places = session.books().places;
      auto s = places.save();
      const auto at = places.place(session.jobs().pod_request_of(r, pick));
      const bool has = at && ((claimed_ && without_claimed_) || places.ready(*at));
      places.rollback(std::move(s));
      return has;
    } else {
      return true;
    }
  }
  /// Where several groups have a choice, no single option is to blame for the lack of a place: chooses the
  /// first flavors that fit and have one. Returns false, having changed nothing, if there are none.
  [[nodiscard]] bool fits_with_others(Session& session, entry& e, const record& r,
                                      const flavor_bounds& bounds) {
    if (!placed || bounds.pinned || r.menu.groups() < 2) return false;
    const flavor_assignment<n> before = e.chosen;
    flavor_bounds one;
    one.pinned = true;
    std::size_t tries = most_picks;
    do {
      assign(session, e, r, one);
      if (e.chosen.mode == fit_mode::fit && has_place(session, r, e.chosen.pick)) return true;
    } while (--tries > 0 && advance(one.from, r.menu));
    e.chosen = before;
    return false;
  }
  using excluded = std::array<std::uint64_t, most_flavor_groups>;
  /// Records that the chosen flavors have no place now, or that none can be made. Returns false if that is
  /// already known, or there is no choice.
  [[nodiscard]] static bool exclude(const record& r, const flavor_pick& pick, const flavor_bounds& bounds,
                                    excluded& these) {
    bool news = false;
    for (std::size_t g = 0; g < r.menu.groups() && !bounds.pinned; ++g) {
      if (pick[g] >= 64) continue;
      const std::uint64_t bit = std::uint64_t{1} << pick[g];
      news = news || (these[g] & bit) == 0;
      these[g] |= bit;
    }
    return news;
  }
  /// Whether it is known that the chosen flavors have no place now.
  [[nodiscard]] static bool has_excluded(const record& r, const flavor_pick& pick,
                                         const flavor_bounds& bounds) {
    for (std::size_t g = 0; g < r.menu.groups(); ++g) {
      if (pick[g] >= 64 || (bounds.no_place[g] >> pick[g] & 1) == 0) return false;
    }
    return !r.menu.empty();
  }

  quota_heights<n> heights_;
  typename Policies::template search_type<n> search_;
  bool tries_other_flavors_;
  vector<std::pair<quota_id, const running_job<n>*>> leaving_;
  /// What the nominations of this cycle are about.
  ledger<n>* books_ = nullptr;
  std::uint64_t cycle_ = 0;
  /// By the index of a job: the cycle in which it was claimed.
  vector<std::uint64_t> gone_in_;
  bool claimed_ = false;
  bool without_claimed_ = false;
  vector<trial> trials_;
  vector<victim<n>> found_;
  vector<victim<n>> best_victims_;
  /// The entries of this cycle that wait for their victims, and where they are to go instead.
  vector<entry*> reserved_;
  vector<typename Session::place> moved_;
  vector<job_id> vacated_;
};

}  // namespace v0
}  // namespace allot
