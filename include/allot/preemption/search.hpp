// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/detail/victim_queue.hpp>
#include <allot/preemption/detail/victim_sets.hpp>
#include <allot/preemption/detail/wanted_victims.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/possible_victims.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/preemption/victims.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// How a search for victims ended.
enum class search_outcome : std::uint8_t {
  found,
  /// No set of eligible victims makes room; or one does, and the caller declined it.
  impossible,
  /// Undecided: the budget was exhausted, or others, or the same in another order, might have been enough:
  /// rivals that would have been fair, or borrowers that would still have borrowed.
  not_proven,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(search_outcome value) noexcept {
  switch (value) {
    case search_outcome::found:
      return "found";
    case search_outcome::impossible:
      return "impossible";
    case search_outcome::not_proven:
      return "not_proven";
  }
  return "";
}

/// The placement side of a search: takes jobs off their places, puts them back where they were (only jobs it
/// has taken off), and says whether the beneficiary could be placed now.
template <class World, std::size_t N>
concept search_world = requires(World world, const running_job<N>& job) {
  world.take_off(job);
  world.put_back(job);
  { world.could_place() } -> std::same_as<bool>;
};

/// A world that can also answer what-if questions without taking jobs off. `begin_what_if` starts with the
/// taken-off jobs gone, and returns whether the world can answer. `gone` and `back` then change which jobs
/// are gone, and `would_fit` says whether the beneficiary could be placed. `helps` says whether it may matter
/// that a job is gone; if not, it does not with more jobs back either. `might_fit_without` is false only if
/// the beneficiary could not be placed with all of these gone; a search that could not succeed is not
/// started.
template <class World, std::size_t N>
concept what_if_world = search_world<World, N> &&
    requires(World world, const running_job<N>& job, std::span<const possible_victims> these) {
  { world.begin_what_if() } -> std::same_as<bool>;
  world.gone(job);
  world.back(job);
  { world.helps(job) } -> std::same_as<bool>;
  { world.would_fit() } -> std::same_as<bool>;
  { world.might_fit_without(these) } -> std::same_as<bool>;
};

/// A search that finds no room with the candidates in their order, where those it took made others
/// ineligible, chooses a few that would make room from all of them, and tries these before the rest. If that
/// fails, too, and no more than twelve jobs may yield, it tries every set of them that can be reached.
struct second_pass {};
/// Such a search gives up, and says that it has proven nothing. Which jobs are preempted then follows from
/// their order alone; in random worlds 0.4 % of what the second pass finds is missed.
struct no_second_pass {};

/// Finds the victims that make a request fit.
///
/// Victims are taken in order until ledger and placement accept the request. Then, in reverse, unneeded ones
/// are given back, so every victim is needed: without it the request would not fit, or a rival would not
/// be fair, or what a borrower returns would not be the beneficiary's. `Fallback` says what happens if the
/// candidates tried in turn leave no room: `second_pass` or `no_second_pass`. Jobs are taken whole; an
/// elastic job yields its elastic pods first, one by one, and is never taken without them. Changes are made
/// directly in the ledger and the world, under the caller's savepoints; when the search fails the caller
/// rolls back. If the world or a part throws, these can't be rolled back, as others are open in them: both
/// are lost. Buffers are reused across searches, so in the steady state it allocates nothing. Ids of running
/// jobs are distinct and dense.
///
/// `Order`, `Guard` and `Protection` determine the order, what is fair and what may not be preempted at all.
template <std::size_t N, victim_order<N> Order, victim_guard<N> Guard,
          victim_protection<N> Protection = unprotected, class Fallback = second_pass>
class victim_search {
  static_assert(std::same_as<Fallback, second_pass> || std::same_as<Fallback, no_second_pass>,
                "allot: the fallback of a search is second_pass or no_second_pass");

 public:
  explicit victim_search(Order order = {}, Guard guard = {}, std::size_t budget = 100'000,
                         Protection protection = {})
      : budget_(budget), guard_(std::move(guard)), asked_(std::move(order), std::move(protection)) {
    if constexpr (monotone_guard<Guard>) {
      asked_.skip_larger_than_refused(Guard::less_fair_when_larger);
    }
  }

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; it has not been charged or placed. O((candidates + victims) log candidates) ledger operations, and
  /// a trial placement for each victim once the ledger accepts. The budget is the number of jobs tried,
  /// including those the guard refuses.
  template <search_world<N> World>
  search_outcome run(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& asks,
                     World& world) {
    beneficiary<N> b = asks;
    b.may = with_guard(b.may, judges_rivals(guard_).value_or(false));
    victims_.clear();
    asked_.reset();
    left_ = budget_;
    refused_after_others_ = sizes_differ_ = widened_ = false;
    any_size_.reset();
    if (!may_preempt(b.may) || !detail::could_ever_fit(l, b)) return search_outcome::impossible;
    if constexpr (what_if_world<World, N>) {
      possible_.clear();
      for_each_possible_victim(l, b, [this](const possible_victims& these) { possible_.push_back(these); });
      if (!world.might_fit_without(possible_)) return search_outcome::impossible;
    }
    const auto fits = [&] { return l.fits(b.quota, b.request, b.in) && world.could_place(); };
    const std::array<bool, N> contested = contested_dimensions(l, b);
    const bool fitted = l.fits(b.quota, b.request, b.in);
    asked_.find(l, running, b, contested);
    search_outcome outcome = ask_in_turn(l, running, b, world, fits);
    if (outcome == search_outcome::impossible) {
      if constexpr (std::same_as<Fallback, second_pass>) {
        // Who is passed over for other reasons is not among those wanted.
        const bool hid_some = asked_.hid_some() || (asks_others(b) && asked_.spared_some());
        outcome = ask_wanted_first(l, running, b, world, fits, contested, fitted);
        if (outcome == search_outcome::impossible && hid_some && !asks_rivals(b.may)) {
          outcome = search_outcome::not_proven;
        }
      } else if (widened_ || asked_.spared_some()) {
        outcome = search_outcome::not_proven;
      }
    }
    if constexpr (std::same_as<Fallback, second_pass>) {
      if (outcome == search_outcome::not_proven && !asks_rivals(b.may)) {
        outcome = ask_every_set(l, running, b, world, fits, contested);
      }
    }
    if (outcome == search_outcome::found) {
      fill_back(l, b, world, fits);
      detail::refresh_verdicts<N>(guard_, l, b, victims_);
    }
    return outcome;
  }

  /// The victims of the last successful search, in the order in which they were chosen.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

  /// @{
  /// For parts with state.
  [[nodiscard]] Order& order() noexcept { return asked_.order(); }
  [[nodiscard]] Guard& guard() noexcept { return guard_; }
  [[nodiscard]] Protection& protection() noexcept { return asked_.protection(); }
  /// @}

 private:
  using queue_type = detail::victim_queue<N, Order, Protection>;
  using victim_source = typename queue_type::victim_source;
  /// How often victims are chosen again when some of the wanted ones may not be preempted.
  static constexpr std::size_t most_attempts = 16;

  [[nodiscard]] static constexpr std::size_t strategies() noexcept {
    if constexpr (staged_guard<Guard>) {
      return Guard::strategies;
    } else {
      return 1;
    }
  }

  template <class World>
  void take(ledger<N>& l, World& world, const running_job<N>& job) {
    l.release(job.quota, job.request, job.in);
    world.take_off(job);
    asked_.mark_taken(job.id, true);
  }
  template <class World>
  void give_back(ledger<N>& l, World& world, const running_job<N>& job) {
    l.charge(job.quota, job.request, job.in);
    world.put_back(job);
    asked_.mark_taken(job.id, false);
  }

  template <class World>
  void give_all_back(ledger<N>& l, World& world) {
    for (; !victims_.empty(); victims_.pop_back()) give_back(l, world, victims_.back().job);
  }

  template <class World, class Fits>
  search_outcome ask_in_turn(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b,
                             World& world, Fits fits) {
    std::size_t offered_at = asked_.progress().evictions;
    for (std::size_t strategy = 0;;) {
      while (victim_source* g = asked_.pop(l, b)) {
        const victim_candidate<N> victim = asked_.candidate_of(*g, b);
        if (left_ == 0) return search_outcome::not_proven;
        --left_;
        const verdict v = ask_guard<N>(guard_, l, b, victim, strategy);
        if (!v.fair) {
          refused_after_others_ = refused_after_others_ || !victims_.empty();
          note_size(victim.yields);
          asked_.refuse(l, b, *g, victim.yields);
          continue;
        }
        note_size(victim.yields);
        take_whole(l, running, world, *g, victim, v, strategy);
        if (fits()) return search_outcome::found;
        asked_.took(l, b, *g, strategy > 0);
        widen(l, running, b);
      }
      // Victims taken since may have made refused candidates fair.
      if (std::exchange(offered_at, asked_.progress().evictions) == offered_at &&
          ++strategy >= strategies()) {
        break;
      }
      if (!asked_.offer_refused_again(l, b)) break;
    }
    return refused_after_others_ && (sizes_differ_ || some_are_useless(l, b)) ? search_outcome::not_proven
                                                                              : search_outcome::impossible;
  }

  /// Takes the candidate's next job, after the elastic pods that go with it.
  template <class World>
  void take_whole(ledger<N>& l, const running_index<N>& running, World& world, victim_source& s,
                  const victim_candidate<N>& victim, const verdict& v, std::size_t strategy) {
    running.for_each_elastic_pod(victim.next, [&](const running_job<N>& unit) {
      if (asked_.is_taken(unit.id)) return;
      take(l, world, unit);
      victims_.push_back({unit, victim.how, v, strategy, true});
      asked_.count(s, unit);
    });
    take(l, world, victim.next);
    victims_.push_back({victim.next, victim.how, v, strategy, false});
    asked_.count(s, victim.next);
  }
  /// Once only a place is missing, all that is requested may be in the way, and must be owned.
  void widen(const ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b) {
    if (N == 1 || !l.fits(b.quota, b.request, b.in)) return;
    const auto all = contested_dimensions(l, b);
    if (all == asked_.contested()) return;
    widened_ = true;
    asked_.find(l, running, b, all);
  }

  /// Which jobs are gone while a set is chosen. It changes the world itself if that has no what-if for this
  /// beneficiary. Out of line: it is used in many places, seldom.
  template <class World>
  class supposition {
   public:
    /// The ledger need not be told of jobs that can't matter to it, unless it says who is eligible.
    supposition(ledger<N>& l, const beneficiary<N>& b, World& world, bool tells_ledger = false)
        : l_(l), b_(b), world_(world), tells_ledger_(tells_ledger) {
      begin();
    }
    /// Starts with those gone that have been taken.
    void begin() {
      // A request that the ledger accepts stays accepted with more jobs gone.
      accepted_ = !tells_ledger_ && l_.fits(b_.quota, b_.request, b_.in);
      if constexpr (what_if_world<World, N>) supposes_ = supposes_ && world_.begin_what_if();
    }
    [[gnu::noinline]] void take(const running_job<N>& job) {
      if (counts()) l_.release(job.quota, job.request, job.in);
      if constexpr (what_if_world<World, N>) {
        if (supposes_) return world_.gone(job);
      }
      world_.take_off(job);
    }
    [[gnu::noinline]] void give_back(const running_job<N>& job) {
      if (counts()) l_.charge(job.quota, job.request, job.in);
      if constexpr (what_if_world<World, N>) {
        if (supposes_) return world_.back(job);
      }
      world_.put_back(job);
    }
    [[nodiscard, gnu::noinline]] bool fits() {
      if (counts() && !l_.fits(b_.quota, b_.request, b_.in)) return false;
      if constexpr (what_if_world<World, N>) {
        if (supposes_) return world_.would_fit();
      }
      return world_.could_place();
    }
    /// False for a gone job if it makes no difference to bring it back, whichever others are back. (Without
    /// those that have been taken, the ledger accepts the request whichever others are gone.)
    [[nodiscard]] bool helps([[maybe_unused]] const running_job<N>& job) const {
      if constexpr (what_if_world<World, N>) return counts() || world_.helps(job);
      return true;
    }

   private:
    /// Whether the ledger must be told.
    [[nodiscard]] bool counts() const noexcept { return !accepted_ || !supposes_; }

    ledger<N>& l_;
    const beneficiary<N>& b_;
    World& world_;
    bool tells_ledger_;
    bool supposes_ = what_if_world<World, N>;
    bool accepted_ = false;
  };

  /// When all eligible jobs were tried, and others became ineligible by that: chooses from all of them a set
  /// that makes room, without unneeded jobs and with those that yield first in the order. It is tried before
  /// any other job; jobs that may not be preempted even then are left out of the next choice.
  ///
  /// Returns `impossible` only if there is no room even without all of them. A trial placement for each
  /// wanted job and halving, counted against the budget.
  template <class World, class Fits>
  search_outcome ask_wanted_first(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b,
                                  World& world, Fits fits, const std::array<bool, N>& contested,
                                  bool fitted) {
    const auto requested = detail::requested_dimensions(b);
    // Whether others are contested once some have gone: then it matters when a job is asked.
    const bool changes = N > 1 && !fitted && detail::count(requested) > 1;
    const bool lacks_place = changes && l.fits(b.quota, b.request, b.in);
    if (!lacks_place && !asked_.spared_some()) return search_outcome::impossible;
    if (!wanted_.gather(l, b, asked_, victims_) && !lacks_place) return search_outcome::impossible;
    supposition<World> without{l, b, world};
    if (lacks_place || !wanted_.would_do(without)) {
      if (!changes) return search_outcome::impossible;
      give_all_back(l, world);
      for (const auto& these : {contested, requested}) {
        asked_.reset();
        asked_.find(l, running, b, these);
        wanted_.gather_more(l, b, asked_);
      }
    }
    wanted_.rank(l, b, asked_);
    for (std::size_t attempt = 0; attempt < most_attempts; ++attempt) {
      give_all_back(l, world);
      without.begin();
      if (!wanted_.choose(without, left_)) {
        // Who owns all that it asks for may ask all of these, and no others.
        if (attempt == 0 && left_ > 0 && changes && owns_all(l, b)) return search_outcome::impossible;
        break;
      }
      asked_.reset();
      widened_ = false;
      asked_.find(l, running, b, contested);
      bool is_room = false;
      // Some may be preempted only after others.
      for (bool again = true; again && !is_room;) {
        const std::size_t before = victims_.size();
        is_room =
            wanted_.ask([&](const running_job<N>& job) { return ask_one(l, running, b, world, fits, job); });
        again = N > 1 && victims_.size() > before;
      }
      if (is_room || ask_in_turn(l, running, b, world, fits) == search_outcome::found) {
        return search_outcome::found;
      }
      if (left_ == 0 || !wanted_.drop_unwilling(asked_)) break;
    }
    return search_outcome::not_proven;
  }
  /// Whether its quota owns the request in all dimensions.
  [[nodiscard]] static bool owns_all(const ledger<N>& l, const beneficiary<N>& b) {
    const bool is_leaf = b.may.children || l.tree().children(b.quota).empty();
    return owns_request(l, b, is_leaf ? b.quota : quota_id::none(), detail::requested_dimensions(b));
  }
  /// In a small world: tries all sets of victims that can be reached. Returns `impossible` if none makes
  /// room, `not_proven` in others.
  template <class World, class Fits>
  search_outcome ask_every_set(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b,
                               World& world, Fits fits, const std::array<bool, N>& contested) {
    if constexpr (!what_if_world<World, N>) {
      give_all_back(l, world);
      possible_.clear();
      for_each_possible_victim(l, b, [this](const possible_victims& these) { possible_.push_back(these); });
    }
    if (left_ == 0 || !sets_.gather(running, b, possible_)) return search_outcome::not_proven;
    give_all_back(l, world);
    asked_.reset();
    supposition<World> without{l, b, world, true};
    const bool is_room = sets_.enter(
        left_,
        [&](const running_job<N>& job, const search_progress<N>& progress) {
          const auto how = asked_.relation_now(l, b, job, contested, progress);
          return how && ask_guard<N>(guard_, l, b, asked_.candidate_of(job, *how, b), 0).fair;
        },
        [&](const running_job<N>& job) { return asked_.may_still_go(l, b, job); },
        [&](const running_job<N>& job) {
          without.take(job);
          asked_.mark_taken(job.id, true);
        },
        [&](const running_job<N>& job) {
          without.give_back(job);
          asked_.mark_taken(job.id, false);
        },
        [&] { return without.fits(); });
    if (!is_room) {
      return left_ == 0 || strategies() > 1 ? search_outcome::not_proven : search_outcome::impossible;
    }
    left_ = budget_;
    asked_.find(l, running, b, contested);
    const bool found =
        sets_.ask([&](const running_job<N>& job) { return ask_one(l, running, b, world, fits, job); });
    ALLOT_ASSERT(found, "who was eligible is again");
    return found ? search_outcome::found : search_outcome::not_proven;
  }
  /// Tries a job out of turn; returns whether there is room without it.
  template <class World, class Fits>
  bool ask_one(ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b, World& world,
               Fits fits, const running_job<N>& job) {
    victim_source* g = asked_.find_source(l, b, job);
    if (!g || left_ == 0) return false;
    --left_;
    const victim_candidate<N> victim = asked_.candidate_of(*g, job, b);
    const verdict v = ask_guard<N>(guard_, l, b, victim, 0);
    if (!v.fair) return false;
    take_whole(l, running, world, *g, victim, v, 0);
    if (fits()) return true;
    asked_.took_out_of_turn(l, b, *g);
    widen(l, running, b);
    return false;
  }

  /// Whether another choice might have done better when the guard refused a job after others had been taken:
  /// if jobs differ in size, or if some of those taken are of no use, and made others unfair for nothing.
  void note_size(const resources<N>& yields) {
    if (!any_size_) any_size_ = yields;
    sizes_differ_ = sizes_differ_ || *any_size_ != yields;
  }
  [[nodiscard]] bool some_are_useless(ledger<N>& l, const beneficiary<N>& b) const {
    const resources<N> room = l.headroom(b.quota, b.in);
    return detail::any_of(victims_.begin(), victims_.end(), [&](const victim<N>& v) {
      l.charge(v.job.quota, v.job.request, v.job.in);
      const bool useless = l.headroom(b.quota, b.in) == room;
      l.release(v.job.quota, v.job.request, v.job.in);
      return useless;
    });
  }

  /// Repeats when a job was kept only because another would not have been eligible without it, and that other
  /// may have been given back since.
  template <class World, class Fits>
  void fill_back(ledger<N>& l, const beneficiary<N>& b, World& world, Fits fits) {
    for (bool again = true; again;) {
      const std::size_t before = victims_.size();
      again = fill_back_once(l, b, world, fits) && victims_.size() < before;
    }
  }
  /// The last victim was needed with all the others gone, so it is needed with fewer gone, unless it is a job
  /// taken with its elastic pods, which may be enough.
  template <class World, class Fits>
  bool fill_back_once(ledger<N>& l, const beneficiary<N>& b, World& world, Fits fits) {
    std::size_t needed = victims_.size();
    const bool last_is_needed = needed < 2 || !victims_[needed - 2].with_its_job;
    bool held_for_others = false;
    const bool all_borrow = detail::all_of(victims_.begin(), victims_.end(),
                                           [](const victim<N>& v) { return v.how == relation::borrower; });
    for (std::size_t i = needed; i-- > 0;) {
      const running_job<N>& job = victims_[i].job;
      // A job is preempted together with its elastic pods: one of them alone can't be given back.
      const bool bound = job.elastic && asked_.is_taken(job.core);
      if (!bound && !(last_is_needed && i + 1 == victims_.size())) {
        const std::size_t first = first_bound_to(l, b, i);
        for (std::size_t k = first; k <= i; ++k) give_back(l, world, victims_[k].job);
        if (fits()) {
          if (all_borrow || detail::still_fair<N>(guard_, l, b, victims_, first, needed)) {
            i = first;
            continue;
          }
          held_for_others = true;
        }
        for (std::size_t k = first; k <= i; ++k) take(l, world, victims_[k].job);
      }
      if (!bound) victims_[i].with_its_job = false;
      victims_[--needed] = victims_[i];
    }
    victims_.erase(victims_.begin(), victims_.begin() + static_cast<std::ptrdiff_t>(needed));
    return held_for_others;
  }

  /// The first of the victims that go with this one or not at all: those of its pods that were taken with it,
  /// and are protected without it. Puts them next to it.
  [[nodiscard]] std::size_t first_bound_to(const ledger<N>& l, const beneficiary<N>& b, std::size_t job) {
    std::size_t first = job;
    if constexpr (!std::same_as<Protection, unprotected>) {
      for (std::size_t i = job; i-- > 0;) {
        const victim<N>& v = victims_[i];
        if (!v.with_its_job || v.job.core != victims_[job].job.id) break;
        if (asked_.protects(l, b, v.job, v.how)) std::swap(victims_[i], victims_[--first]);
      }
    }
    return first;
  }

  /// The possible victims of the search.
  vector<possible_victims> possible_;
  vector<victim<N>> victims_;
  struct nothing {};
  struct other_nothing {};
  [[no_unique_address]] std::conditional_t<std::same_as<Fallback, second_pass>,
                                           detail::wanted_victims<N, queue_type>, nothing>
      wanted_{};
  [[no_unique_address]] std::conditional_t<std::same_as<Fallback, second_pass>, detail::victim_sets<N>,
                                           other_nothing>
      sets_{};
  std::size_t budget_;
  std::size_t left_ = 0;
  /// Whether a job was refused that might have been fair without the victims before it.
  bool refused_after_others_ = false;
  bool sizes_differ_ = false;
  /// Whether more dimensions are contested than at first, because only a place is missing.
  bool widened_ = false;
  std::optional<resources<N>> any_size_{};
  [[no_unique_address]] Guard guard_;
  queue_type asked_;
};

}  // namespace v0
}  // namespace allot
