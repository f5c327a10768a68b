// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {

/// Where jobs stand: what a scheduler needs of a host's inventory (`gpu::inventory` is one).
///
/// `place` takes a place for all pods of a demand, or nothing. A job that has been told to go is *vacated*:
/// its place counts as free for `place` while its pods still stand there, until `release`; `reoccupy` takes
/// that back while nobody else was given the place. `ready` says whether nothing stands any more on a place
/// that was given. `why_not` explains a refusal, as data of the placement's own. Savepoints nest with those
/// of the ledger and restore bit for bit.
template <class P>
concept placement = requires(P p, const P& seen, const typename P::demand& demand,
                             typename P::allocation where, savepoint s) {
  requires std::totally_ordered<typename P::demand>;
  requires std::regular<typename P::allocation>;
  { p.place(demand) } -> std::same_as<std::optional<typename P::allocation>>;
  p.release(where);
  p.vacate(where);
  p.reoccupy(where);
  { seen.ready(where) } -> std::same_as<bool>;
  { seen.could_ever_fit(demand) } -> std::same_as<bool>;
  seen.why_not(demand);
  { p.save() } -> std::same_as<savepoint>;
  p.rollback(s);
  p.commit(s);
};

/// A placement that can say whether a demand would have a place if some of those who stand there went,
/// without vacating them, which costs more: a search plays through many who could go. `suppose` begins, with
/// nobody gone, and returns whether it can say so for this demand; until the placement changes `suppose_gone`
/// and `suppose_back` say who is gone and who is not after all, and `would_fit` what `place` would find then.
/// `would_help` is asked of one who is gone: if it says no, `would_fit` says the same whether or not he
/// stays, also when others stay, too.
template <class P>
concept supposing_placement = placement<P> &&
    requires(P p, const P& seen, const typename P::demand& demand, typename P::allocation where) {
  { p.suppose(demand) } -> std::same_as<bool>;
  p.suppose_gone(where);
  p.suppose_back(where);
  { p.would_help(where) } -> std::same_as<bool>;
  { seen.would_fit() } -> std::same_as<bool>;
};

/// A placement that can say of groups of those who stand there whether a demand could have a place if all of
/// them went. It is told who may go and who may not, or does not stand there, any more, by group; `might_fit`
/// says no only if there is no place even without all these groups. A search begins with that.
template <class P>
concept bounding_placement = placement<P> &&
    requires(P p, const typename P::demand& demand, typename P::allocation where,
             std::span<const std::uint32_t> groups) {
  p.note_may_go(std::uint32_t{}, where);
  p.note_stays(std::uint32_t{}, where);
  { p.might_fit(demand, groups) } -> std::same_as<bool>;
};

/// A placement of devices, some of which a demand has to itself while it may share others: `devices_of`. Who
/// is only moved frees none of the former, so who needs more of them than `free_devices`, which nobody uses,
/// can't be served by moving such jobs.
template <class P>
concept device_counting_placement = placement<P> &&
    requires(const P& seen, const typename P::demand& demand) {
  { seen.devices_of(demand).own } -> std::convertible_to<std::uint64_t>;
  { seen.devices_of(demand).shared } -> std::convertible_to<std::uint64_t>;
  { seen.free_devices() } -> std::same_as<std::uint64_t>;
};

/// A placement whose places can be lost: a node fails, or is closed to new jobs. `contains` says whether it
/// has given a place that was not released; `usable` whether whoever has it could start there now. A
/// scheduler asks before it takes over a running job, and before it starts one that waited on a place for
/// others to go.
template <class P>
concept revocable_placement = placement<P> && requires(const P& seen, typename P::allocation where) {
  { seen.contains(where) } -> std::same_as<bool>;
  { seen.usable(where) } -> std::same_as<bool>;
};

/// For hosts that schedule by quota alone: everything can stand somewhere.
struct no_placement {
  struct demand {
    friend constexpr auto operator<=>(const demand&, const demand&) noexcept = default;
  };
  struct allocation {
    friend constexpr bool operator==(const allocation&, const allocation&) noexcept = default;
  };
  struct reason {};

  [[nodiscard]] std::optional<allocation> place(demand) noexcept { return allocation{}; }
  void release(allocation) noexcept {}
  void vacate(allocation) noexcept {}
  void reoccupy(allocation) noexcept {}
  [[nodiscard]] bool ready(allocation) const noexcept { return true; }
  [[nodiscard]] bool could_ever_fit(demand) const noexcept { return true; }
  [[nodiscard]] reason why_not(demand) const noexcept { return {}; }
  [[nodiscard]] savepoint save() noexcept { return {}; }
  void rollback(savepoint) noexcept {}
  void commit(savepoint) noexcept {}
};
static_assert(placement<no_placement>);

namespace detail {

/// True, or an error that says which member is missing or is not what its name stands for. (The names of the
/// constants are what clang says before the message.)
template <class P>
[[nodiscard]] consteval bool is_placement() {
  constexpr bool is_policies = requires(P p) {
    p.not_preemptible;
  }
  || requires {
    typename P::policies_type;
  };
  static_assert(!is_policies,
                "allot: policies, or a preset, stand where the placement goes: without a placement write "
                "allot::scheduler<View, allot::no_placement, Policies>");
  constexpr bool has_demand = requires {
    requires std::totally_ordered<typename P::demand>;
  };
  static_assert(has_demand || is_policies,
                "allot: the placement must have a type `demand` with a total order");
  constexpr bool has_allocation = requires {
    requires std::regular<typename P::allocation>;
  };
  static_assert(has_allocation || is_policies,
                "allot: the placement must have a type `allocation`, default constructible, copyable and "
                "comparable by ==");
  if constexpr (has_demand && has_allocation) {
    using demand = typename P::demand;
    using allocation = typename P::allocation;
    constexpr bool has_place = requires(P p, const demand& d) {
      { p.place(d) } -> std::same_as<std::optional<allocation>>;
    };
    static_assert(has_place,
                  "allot: the placement must have `std::optional<allocation> place(const demand&)`");
    constexpr bool has_release = requires(P p, allocation where) {
      p.release(where);
    };
    static_assert(has_release, "allot: the placement must have `void release(allocation)`");
    constexpr bool has_vacate = requires(P p, allocation where) {
      p.vacate(where);
    };
    static_assert(has_vacate, "allot: the placement must have `void vacate(allocation)`");
    constexpr bool has_reoccupy = requires(P p, allocation where) {
      p.reoccupy(where);
    };
    static_assert(has_reoccupy, "allot: the placement must have `void reoccupy(allocation)`");
    constexpr bool has_ready = requires(const P& p, allocation where) {
      { p.ready(where) } -> std::same_as<bool>;
    };
    static_assert(has_ready, "allot: the placement must have `bool ready(allocation) const`");
    constexpr bool has_could_ever_fit = requires(const P& p, const demand& d) {
      { p.could_ever_fit(d) } -> std::same_as<bool>;
    };
    static_assert(has_could_ever_fit,
                  "allot: the placement must have `bool could_ever_fit(const demand&) const`");
    constexpr bool has_why_not = requires(const P& p, const demand& d) {
      p.why_not(d);
    };
    static_assert(
        has_why_not,
        "allot: the placement must have `reason why_not(const demand&) const`, of a type of its own");
    constexpr bool has_save = requires(P p) {
      { p.save() } -> std::same_as<savepoint>;
    };
    static_assert(has_save, "allot: the placement must have `allot::savepoint save()`");
    constexpr bool has_rollback = requires(P p, savepoint s) {
      p.rollback(s);
    };
    static_assert(has_rollback, "allot: the placement must have `void rollback(allot::savepoint)`");
    constexpr bool has_commit = requires(P p, savepoint s) {
      p.commit(s);
    };
    static_assert(has_commit, "allot: the placement must have `void commit(allot::savepoint)`");
  }
  return true;
}

}  // namespace detail

}  // namespace v0
}  // namespace allot
