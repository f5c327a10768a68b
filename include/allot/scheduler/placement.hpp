// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// Where jobs run: what a scheduler needs of a host's inventory (`gpu::inventory` is one).
///
/// Jobs with equal pod requests have the same chances, so one that finds no place speaks for the others. A
/// request that says more than what decides whether there is room (how long its pods will run, say) has a
/// member `pod_request room_key() const`, which returns it without that; then equal keys are what counts. A
/// pod request that has an order as well is looked up in O(log n) of the different ones that wait; without
/// one, in O(n) of those that ask the same of the quota.
///
/// `place` takes a place for all pods of a pod request, or returns nothing. An evicting job is *vacated*: its
/// place counts as free for `place` while its pods are still there, until `release`; `reoccupy` undoes that
/// while no other job was given the place. `ready` says whether a given place is clear of earlier jobs.
/// `why_not` explains a refusal, as data of the placement's own. It is asked of jobs for which there may be
/// room, too; data with a member `bool says_no() const` that returns true rule that out.
///
/// `save` opens a savepoint, of any movable type: a number, an undo log, a copy. It is closed by `rollback`,
/// which restores bit for bit, or by `commit`, which keeps the changes. Savepoints nest: the one opened last
/// is closed first.
///
/// `release`, `vacate`, `reoccupy`, `rollback` and `commit` are `noexcept`, for they follow changes that
/// can't be taken back without them. (So if one that keeps an undo log runs out of memory, the program ends.)
/// They take a reference to const where a copy may throw. The others may throw: see `scheduler`.
template <class P>
concept placement = requires(P p, const P& seen, const typename P::pod_request& pod_request,
                             const typename P::allocation& where) {
  requires std::regular<typename P::pod_request>;
  requires std::regular<typename P::allocation>;
  { p.place(pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
  { p.release(where) }
  noexcept;
  { p.vacate(where) }
  noexcept;
  { p.reoccupy(where) }
  noexcept;
  { seen.ready(where) } -> std::same_as<bool>;
  { seen.could_ever_fit(pod_request) } -> std::same_as<bool>;
  seen.why_not(pod_request);
  { p.save() } -> std::movable;
  { p.rollback(std::declval<decltype(p.save())>()) }
  noexcept;
  { p.commit(std::declval<decltype(p.save())>()) }
  noexcept;
};

/// A placement that may be without nodes, like `no_placement`: then quotas alone count. Default: it has some.
/// (If it has some, and has them in a node-aware `inventory()`, `runai` uses that as well.)
template <class P>
concept optional_nodes_placement = placement<P> && requires(const P& seen) {
  { seen.has_nodes() } -> std::same_as<bool>;
};

namespace detail {

/// Changes of a placement that are rolled back unless they are kept.
template <placement P>
class tentative {
 public:
  explicit tentative(P& places) : places_(places), before_(places.save()) {}
  tentative(const tentative&) = delete;
  tentative& operator=(const tentative&) = delete;
  ~tentative() {
    if (!is_kept_) places_.rollback(std::move(before_));
  }
  void keep() noexcept {
    places_.commit(std::move(before_));
    is_kept_ = true;
  }

 private:
  P& places_;
  decltype(std::declval<P&>().save()) before_;
  bool is_kept_ = false;
};

/// Whether the placement's reason rules out that there is a place; see `placement`.
template <class Reason>
[[nodiscard]] bool says_no([[maybe_unused]] const Reason& why) {
  if constexpr (requires { why.says_no(); }) return why.says_no();
  return false;
}

}  // namespace detail

/// Whether a place is available now. Changes nothing, not even if `place` throws. A placement that can tell
/// without placing the pods may have a member `could_place`, which is then asked.
template <placement P>
[[nodiscard]] bool could_place(P& places, const typename P::pod_request& pod_request) {
  if constexpr (requires { places.could_place(pod_request); }) {
    return places.could_place(pod_request);
  } else {
    const detail::tentative trial{places};
    return places.place(pod_request).has_value();
  }
}

/// Counts what would fit in a placement without some of its jobs, and moves none: a class beside the
/// placement, `P::room_counter`. A search for victims asks one before it moves any job.
///
/// - `begin` starts over for a pod request, with no job gone, and returns whether it can count for it. Until
///   the placement changes, `gone` and `back` change which of the placed jobs are gone.
/// - `fits(0)` says whether `place` would then find a place.
/// - `helps` is asked of a gone job: if false, `fits` returns the same whether or not that job is back, even
///   with others back.
///
/// Where one can't count, a search tries everything under a savepoint. So it does in a placement without one.
template <class R, class P>
concept placement_room = placement<P> && std::default_initializable<R> &&
    requires(R room, const R& seen, P& places, const typename P::pod_request& pod_request,
             typename P::allocation where, std::uint64_t taken) {
  { room.begin(places, pod_request) } -> std::same_as<bool>;
  room.gone(places, where);
  room.back(places, where);
  { seen.fits(taken) } -> std::same_as<std::optional<bool>>;
  { room.helps(places, where) } -> std::same_as<bool>;
};

/// One that can be kept while the placement changes. An availability profile has one for each of the next
/// reserved starts, with the jobs gone that are expected to have ended by then, and so need not walk through
/// time for each job that may start.
///
/// - `keep` is as `begin`, but it goes on being about the placement as it was then, or at the last `look`,
///   which takes in all that has changed. `back` of a job that is not gone counts it a second time, and both
///   may be about places that came or left since.
/// - `fits(taken)` says whether there is a place although other jobs have taken so much of the room; nothing
///   if that depends on which.
/// - `taken_by` returns how much of it a job of another pod request takes at least, and at most, wherever it
///   is placed. It is asked after `begin`, too: by one that could not be kept the range may be of any width.
///
/// Where one can't be kept, the profile is walked.
template <class R, class P>
concept kept_placement_room = placement_room<R, P> &&
    requires(R room, const R& seen, P& places, const typename P::pod_request& pod_request) {
  { room.keep(places, pod_request) } -> std::same_as<bool>;
  room.look(places);
  { seen.taken_by(places, pod_request) } -> std::same_as<std::pair<std::uint64_t, std::uint64_t>>;
};

/// One that can also rule out a search for victims before it begins. `may_go` and `may_not_go` report of each
/// running job, by group, whether it may be preempted; `might_fit` is false only if the pod request has no
/// place even without all of these groups. None of them depends on `begin`.
template <class R, class P>
concept grouped_placement_room = placement_room<R, P> &&
    requires(R room, P& places, const typename P::pod_request& pod_request, typename P::allocation where,
             std::uint32_t group, std::span<const std::uint32_t> groups) {
  room.may_go(places, group, where);
  room.may_not_go(places, group, where);
  { room.might_fit(places, pod_request, groups) } -> std::same_as<bool>;
};

/// For a placement without a counter: nothing can be counted.
struct no_room_counter {
  /// @{
  /// What the concept `kept_placement_room` asks for.
  [[nodiscard]] bool begin(const auto&, const auto&) const noexcept { return false; }
  void gone(const auto&, const auto&) const noexcept {}
  void back(const auto&, const auto&) const noexcept {}
  [[nodiscard]] std::optional<bool> fits(std::uint64_t) const noexcept { return {}; }
  [[nodiscard]] bool helps(const auto&, const auto&) const noexcept { return true; }
  [[nodiscard]] bool keep(const auto&, const auto&) const noexcept { return false; }
  void look(const auto&) const noexcept {}
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken_by(const auto&, const auto&) const noexcept {
    return {};
  }
  /// @}
};

/// A placement whose places can be lost: a node fails, or is closed to new jobs. `contains` says whether it
/// has given a place that was not released; `usable` whether its job could start there now. A scheduler asks
/// before it adopts a running job, and before it starts one that waited on its place for evictions.
///
/// Such a place is one job's: those given and not released are not equal, unless the placement is without
/// nodes (`optional_nodes_placement`). So a scheduler can tell which of them its jobs have. That takes O(1)
/// if places are ids (`recycled_id`), O(log n) if they have an order, and O(n) of the jobs that have one
/// otherwise.
///
/// To have a host take a place where a job runs already (`scheduler::take_place`), it has a member
/// `place_at(pod_request, ...)`, which takes what says where and returns the place, or nothing.
template <class P>
concept revocable_placement = placement<P> && requires(const P& seen, typename P::allocation where) {
  { seen.contains(where) } -> std::same_as<bool>;
  { seen.usable(where) } -> std::same_as<bool>;
};

/// A placement that says what a host may change in it while a scheduler counts on it: a class beside the
/// placement, `P::host_nodes`, made of a reference to it, that closes and opens nodes, say, but neither
/// places nor releases. `scheduler::nodes` returns it, and the placement itself is then out of the host's
/// reach.
///
/// A placement without one works as well: the host then has `scheduler::unchecked_places`.
template <class P>
concept guarded_placement = revocable_placement<P> && std::constructible_from<typename P::host_nodes, P&>;

/// A placement that can replace those pods of a placed job that are on failed nodes: `replace(where,
/// request)` returns the place of the same job with these elsewhere, where they can start at once, and the
/// others as they are (`where` is not a place any more); or nothing, and has changed nothing.
template <class P>
concept replacing_placement = revocable_placement<P> &&
    requires(P p, const typename P::pod_request& pod_request, const typename P::allocation& where) {
  { p.replace(where, pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
};

/// A placement that knows of nodes which will be closed, or come back: `next_change(after)` returns when the
/// next of them does, `without_end` if none does. After `look_ahead(at)` places are given as of then: nodes
/// that will be back by then are open, and none is given that the job would lose before its estimate is over.
/// A scheduler looks ahead under a savepoint, for reservations. After the rollback it looks at the present
/// again. Default: the nodes stay as they are.
template <class P>
concept foreseeing_placement = placement<P> && requires(P p, const P& seen, instant at) {
  { seen.next_change(at) } -> std::same_as<instant>;
  p.look_ahead(at);
};

/// A placement in which a pod of an elastic job may have to be near the others: a pod request of one more
/// pod has a member `pod_request beside(const allocation& others) const`, which returns it with the place of
/// the core. Default: it may be anywhere.
template <class P>
concept near_request = placement<P> &&
    requires(const typename P::pod_request& r, const typename P::allocation& where) {
  { r.beside(where) } -> std::same_as<typename P::pod_request>;
};

/// For hosts that schedule by quota alone: every job has a place.
struct no_placement {
  /// Nothing is requested.
  struct pod_request {
    friend constexpr auto operator<=>(const pod_request&, const pod_request&) noexcept = default;
  };
  /// Every place is the same.
  struct allocation {
    friend constexpr bool operator==(const allocation&, const allocation&) noexcept = default;
  };
  /// Never used: there is always a place.
  struct reason {};
  /// There is room at any time. A search does not count it, for it needs no trial either.
  struct room_counter {
    /// @{
    /// What the concept `kept_placement_room` asks for.
    [[nodiscard]] bool begin(const no_placement&, pod_request) const noexcept { return false; }
    void gone(const no_placement&, allocation) const noexcept {}
    void back(const no_placement&, allocation) const noexcept {}
    [[nodiscard]] std::optional<bool> fits(std::uint64_t) const noexcept { return true; }
    [[nodiscard]] bool helps(const no_placement&, allocation) const noexcept { return true; }
    [[nodiscard]] bool keep(const no_placement&, pod_request) const noexcept { return true; }
    void look(const no_placement&) const noexcept {}
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken_by(const no_placement&,
                                                                   pod_request) const noexcept {
      return {};
    }
    /// @}
  };

  /// @{
  /// What the concept `placement` asks for: every call succeeds and changes nothing.
  [[nodiscard]] std::optional<allocation> place(pod_request) noexcept { return allocation{}; }
  [[nodiscard]] bool could_place(pod_request) const noexcept { return true; }
  void release(allocation) noexcept {}
  void vacate(allocation) noexcept {}
  void reoccupy(allocation) noexcept {}
  [[nodiscard]] bool ready(allocation) const noexcept { return true; }
  [[nodiscard]] bool could_ever_fit(pod_request) const noexcept { return true; }
  [[nodiscard]] reason why_not(pod_request) const noexcept { return {}; }
  struct savepoint {};
  [[nodiscard]] savepoint save() noexcept { return {}; }
  void rollback(savepoint) noexcept {}
  void commit(savepoint) noexcept {}
  /// @}
};
static_assert(placement<no_placement>);

namespace detail {

/// What a placement and its pod requests may have, each with its default.
struct placement_or_default {
  /// @{
  /// The class beside it; an overload for an int is better than one for a long.
  template <class P>
  static no_room_counter room_counter(long);
  template <class P>
  static typename P::room_counter room_counter(int);
  /// @}
  /// Whether jobs have places, so that more is in their way than what quotas use.
  [[nodiscard]] static bool has_nodes(const placement auto&) { return true; }
  [[nodiscard]] static bool has_nodes(const optional_nodes_placement auto& places) {
    return places.has_nodes();
  }
  [[nodiscard]] static bool has_nodes(const no_placement&) { return false; }
  /// Whether a job could start in its place now.
  [[nodiscard]] static bool usable(const placement auto&, const auto&, const auto&) { return true; }
  [[nodiscard]] static bool usable(const revocable_placement auto& places, const auto& where, const auto& r) {
    if constexpr (requires { places.usable(where, r); }) {
      return places.usable(where, r);
    } else {
      return places.usable(where);
    }
  }
  /// Places are given as of then.
  static void look_ahead(placement auto&, instant) {}
  static void look_ahead(foreseeing_placement auto& places, instant at) { places.look_ahead(at); }
  /// When the nodes change next of which that is known.
  [[nodiscard]] static instant next_change(const placement auto&, instant) { return without_end; }
  [[nodiscard]] static instant next_change(const foreseeing_placement auto& places, instant after) {
    return places.next_change(after);
  }
  /// What of a pod request decides whether there is room.
  [[nodiscard]] static const auto& room_key(const auto& r) { return r; }
  [[nodiscard]] static auto room_key(const auto& r) requires requires { r.room_key(); }
  { return r.room_key(); }
  /// Whether pods that run by the one request are what the other asks for.
  [[nodiscard]] static bool runs_as(const auto& r, const auto& other) {
    if constexpr (requires { r.runs_as(other); }) {
      return r.runs_as(other);
    } else {
      return room_key(r) == room_key(other);
    }
  }
};

/// Lets a placement answer as of times to come, until its end; the trials that are made meanwhile end before.
template <placement P>
class ahead_of_time {
 public:
  ahead_of_time(P& places, instant now) : places_(places), now_(now) {}
  ahead_of_time(const ahead_of_time&) = delete;
  ahead_of_time& operator=(const ahead_of_time&) = delete;
  ~ahead_of_time() { look(now_); }
  /// As of then, or now if that is over.
  void look(instant at) { placement_or_default::look_ahead(places_, std::max(at, now_)); }

 private:
  P& places_;
  instant now_;
};

}  // namespace detail

/// The counter beside a placement, or `no_room_counter` if it has none.
template <class P>
using room_counter_of = decltype(detail::placement_or_default::room_counter<P>(0));

namespace detail {
/// The same if it can be kept.
template <class P>
using kept_counter_of =
    std::conditional_t<kept_placement_room<room_counter_of<P>, P>, room_counter_of<P>, no_room_counter>;

/// True, or an error that names a member that is missing or has the wrong signature. (clang prints the names
/// of the constants before the message.)
template <class P>
[[nodiscard]] consteval bool is_placement() {
  constexpr bool is_policies = requires(P p) {
    p.not_preemptible;
  }
  || requires {
    typename P::policies_type;
  };
  static_assert(
      !is_policies,
      "allot: policies, or a preset, were given in place of the placement: without a placement write "
      "allot::scheduler<View, allot::no_placement, Policies>");
  constexpr bool has_pod_request = requires {
    requires std::regular<typename P::pod_request>;
  };
  static_assert(has_pod_request || is_policies,
                "allot: the placement must have a type `pod_request`, default constructible, copyable and "
                "comparable by ==");
  constexpr bool has_allocation = requires {
    requires std::regular<typename P::allocation>;
  };
  static_assert(has_allocation || is_policies,
                "allot: the placement must have a type `allocation`, default constructible, copyable and "
                "comparable by ==");
  if constexpr (has_pod_request && has_allocation) {
    using pod_request = typename P::pod_request;
    using allocation = typename P::allocation;
    constexpr bool names_room_key = requires {
      &pod_request::room_key;
    };
    constexpr bool has_room_key = requires(const pod_request& d) {
      { d.room_key() } -> std::same_as<pod_request>;
    };
    static_assert(has_room_key || !names_room_key,
                  "allot: the pod request's optional member room_key must be `pod_request room_key() const`");
    constexpr bool has_place = requires(P p, const pod_request& r) {
      { p.place(r) } -> std::same_as<std::optional<allocation>>;
    };
    static_assert(has_place,
                  "allot: the placement must have `std::optional<allocation> place(const pod_request&)`");
    constexpr bool has_release = requires(P p, const allocation& where) {
      { p.release(where) }
      noexcept;
    };
    static_assert(has_release, "allot: the placement must have `void release(const allocation&) noexcept`");
    constexpr bool has_vacate = requires(P p, const allocation& where) {
      { p.vacate(where) }
      noexcept;
    };
    static_assert(has_vacate, "allot: the placement must have `void vacate(const allocation&) noexcept`");
    constexpr bool has_reoccupy = requires(P p, const allocation& where) {
      { p.reoccupy(where) }
      noexcept;
    };
    static_assert(has_reoccupy, "allot: the placement must have `void reoccupy(const allocation&) noexcept`");
    constexpr bool has_ready = requires(const P& p, allocation where) {
      { p.ready(where) } -> std::same_as<bool>;
    };
    static_assert(has_ready, "allot: the placement must have `bool ready(allocation) const`");
    constexpr bool has_could_ever_fit = requires(const P& p, const pod_request& r) {
      { p.could_ever_fit(r) } -> std::same_as<bool>;
    };
    static_assert(has_could_ever_fit,
                  "allot: the placement must have `bool could_ever_fit(const pod_request&) const`");
    constexpr bool has_why_not = requires(const P& p, const pod_request& r) {
      p.why_not(r);
    };
    static_assert(
        has_why_not,
        "allot: the placement must have `reason why_not(const pod_request&) const`, of a type of its own");
    constexpr bool has_save = requires(P p) {
      { p.save() } -> std::movable;
    };
    static_assert(has_save,
                  "allot: the placement must have `savepoint save()`, where savepoint is a movable type of "
                  "its own or allot::savepoint");
    constexpr bool has_rollback = requires(P p) {
      { p.rollback(std::declval<decltype(p.save())>()) }
      noexcept;
    };
    static_assert(has_rollback || !has_save,
                  "allot: the placement must have `void rollback(savepoint) noexcept`, of the type that "
                  "save() returns");
    constexpr bool has_commit = requires(P p) {
      { p.commit(std::declval<decltype(p.save())>()) }
      noexcept;
    };
    static_assert(
        has_commit || !has_save,
        "allot: the placement must have `void commit(savepoint) noexcept`, of the type that save() returns");
    constexpr bool says_usable = requires(P p, allocation where) {
      p.usable(where);
    };
    constexpr bool is_revocable = requires(const P& p, allocation where) {
      { p.contains(where) } -> std::same_as<bool>;
      { p.usable(where) } -> std::same_as<bool>;
    };
    static_assert(is_revocable || !says_usable,
                  "allot: usable and contains go together: the placement must have `bool usable(allocation) "
                  "const` and `bool contains(allocation) const`");
    constexpr bool names_host_nodes = requires {
      typename P::host_nodes;
    };
    if constexpr (names_host_nodes) {
      static_assert(std::constructible_from<typename P::host_nodes, P&>,
                    "allot: the placement's type `host_nodes` must be constructible from a reference to it");
      static_assert(is_revocable,
                    "allot: a placement with a type `host_nodes` must tell its places: it must have `bool "
                    "contains(allocation) const` and `bool usable(allocation) const`");
    }
    constexpr bool names_could_place = requires {
      &P::could_place;
    };
    constexpr bool has_could_place = requires(P p, const pod_request& r) {
      { p.could_place(r) } -> std::same_as<bool>;
    };
    static_assert(has_could_place || !names_could_place,
                  "allot: the placement's optional member could_place must be `bool could_place(const "
                  "pod_request&)`");
    if constexpr (placement<P>) {
      constexpr bool names_has_nodes = requires {
        &P::has_nodes;
      };
      static_assert(optional_nodes_placement<P> || !names_has_nodes,
                    "allot: the placement's optional member has_nodes must be `bool has_nodes() const`");
      constexpr bool names_changes = requires {
        &P::next_change;
      }
      || requires {
        &P::look_ahead;
      };
      static_assert(foreseeing_placement<P> || !names_changes,
                    "allot: next_change and look_ahead go together: the placement must have `instant "
                    "next_change(instant) const` and `void look_ahead(instant)`");
      using room_counter = room_counter_of<P>;
      constexpr bool has_room = placement_room<room_counter, P>;
      static_assert(has_room,
                    "allot: the placement's type `room_counter` must model allot::placement_room: begin, "
                    "gone, back, fits, helps");
      constexpr bool names_keep = requires {
        &room_counter::keep;
      };
      constexpr bool is_kept = kept_placement_room<room_counter, P>;
      static_assert(is_kept || !has_room || !names_keep,
                    "allot: keep, look and taken_by of the placement's type `room_counter` go together: see "
                    "allot::kept_placement_room");
      constexpr bool names_groups = requires {
        &room_counter::might_fit;
      };
      constexpr bool has_groups = grouped_placement_room<room_counter, P>;
      static_assert(has_groups || !has_room || !names_groups,
                    "allot: might_fit, may_go and may_not_go of the placement's type `room_counter` go "
                    "together: see allot::grouped_placement_room");
    }
  }
  return true;
}

}  // namespace detail

}  // namespace v0
}  // namespace allot
