// SPDX-License-Identifier: BSL-1.0
#include <allot/core/journal.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

using allot::no_placement;
using allot::savepoint;

static_assert(allot::placement<no_placement>);
static_assert(allot::placement<allot::gpu::inventory>);
static_assert(allot::placement<allot::sim::places>);
static_assert(allot::revocable_placement<allot::gpu::inventory>);
static_assert(allot::revocable_placement<allot::sim::places>);
static_assert(allot::foreseeing_placement<allot::gpu::inventory>);
static_assert(!allot::foreseeing_placement<no_placement>);
static_assert(!allot::revocable_placement<no_placement>);
static_assert(allot::grouped_placement_room<allot::gpu::inventory::room_counter, allot::gpu::inventory>);
static_assert(allot::grouped_placement_room<allot::sim::places::room_counter, allot::sim::places>);
static_assert(allot::kept_placement_room<allot::gpu::inventory::room_counter, allot::gpu::inventory>);
static_assert(allot::kept_placement_room<allot::sim::places::room_counter, allot::sim::places>);
static_assert(allot::kept_placement_room<no_placement::room_counter, no_placement>);

// Not in an unnamed namespace: clang would warn about the archetype's unused members.
namespace placement_archetypes {

/// Exactly what is required and no more: an archetype.
struct least {
  struct pod_request {
    friend bool operator==(const pod_request&, const pod_request&) = default;
  };
  using allocation = int;
  std::optional<int> place(const pod_request&) { return 0; }
  void release(int) noexcept {}
  void vacate(int) noexcept {}
  void reoccupy(int) noexcept {}
  bool ready(int) const { return true; }
  bool could_ever_fit(const pod_request&) const { return true; }
  const char* why_not(const pod_request&) const { return "full"; }
  savepoint save() { return {}; }
  void rollback(savepoint) noexcept {}
  void commit(savepoint) noexcept {}
};
static_assert(allot::placement<least>);
// A placement without a counter gets one that counts nothing.
static_assert(std::is_same_v<allot::room_counter_of<least>, allot::no_room_counter>);
static_assert(allot::placement_room<allot::no_room_counter, least>);
static_assert(!allot::grouped_placement_room<allot::no_room_counter, least>);

// Counterexamples: each differs in one thing.
struct without_reoccupy : least {
  void reoccupy() noexcept {}
};
/// What undoes something must not throw.
struct release_may_throw : least {
  void release(int) {}
};
struct rollback_may_throw : least {
  void rollback(savepoint) {}
};
struct commit_may_throw : least {
  void commit(savepoint) {}
};
/// Nor must what is passed to it by value.
struct places_of_text : least {
  using allocation = std::string;
  std::optional<std::string> place(const pod_request&) { return ""; }
  void release(const std::string&) noexcept {}
  void vacate(const std::string&) noexcept {}
  void reoccupy(const std::string&) noexcept {}
  bool ready(const std::string&) const { return true; }
};
struct copies_text : places_of_text {
  void vacate(std::string) noexcept {}
};
struct place_or_minus_one : least {
  int place(const pod_request&) { return -1; }
};
/// Jobs with equal requests have the same chances.
struct requests_without_equality : least {
  struct pod_request {};
  std::optional<int> place(const pod_request&) { return 0; }
  bool could_ever_fit(const pod_request&) const { return true; }
  const char* why_not(const pod_request&) const { return ""; }
};
struct changes_when_asked : least {
  bool ready(int) { return true; }
};
struct says_nothing : least {
  void why_not() const {}
};
/// Savepoints may be of any type that can be moved.
struct savepoint_of_its_own : least {
  using savepoint = std::unique_ptr<int>;
  savepoint save() { return {}; }
  void rollback(savepoint) noexcept {}
  void commit(savepoint) noexcept {}
};
struct savepoint_of_another : least {
  std::unique_ptr<int> save() { return {}; }
};
struct savepoint_that_stays : least {
  struct guard {
    guard() = default;
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
  };
  guard save() { return {}; }
  void rollback(const guard&) noexcept {}
  void commit(const guard&) noexcept {}
};
static_assert(allot::placement<savepoint_of_its_own>);
static_assert(allot::placement<places_of_text>);
static_assert(!allot::placement<copies_text>);
static_assert(!allot::placement<release_may_throw>);
static_assert(!allot::placement<rollback_may_throw>);
static_assert(!allot::placement<commit_may_throw>);
static_assert(!allot::placement<savepoint_of_another>);
static_assert(!allot::placement<savepoint_that_stays>);
static_assert(!allot::placement<without_reoccupy>);
static_assert(!allot::placement<place_or_minus_one>);
static_assert(!allot::placement<requests_without_equality>);
static_assert(!allot::placement<changes_when_asked>);
static_assert(!allot::placement<says_nothing>);
static_assert(!allot::placement<int>);

/// Placements whose places can be lost.
struct revocable : least {
  bool usable(int) const { return false; }
  bool contains(int) const { return true; }
};
/// One that knows when its nodes change.
struct foreseeing : least {
  allot::instant next_change(allot::instant after) const { return after + 7; }
  void look_ahead(allot::instant) {}
};
struct says_not_what_it_has : least {
  bool usable(int) const { return false; }
};
/// Placements that say what a host may change in them.
struct guarded : revocable {
  struct host_nodes {
    explicit host_nodes(guarded&) {}
  };
};
struct makes_it_of_nothing : revocable {
  struct host_nodes {};
};
struct does_not_tell_places : least {
  struct host_nodes {
    explicit host_nodes(does_not_tell_places&) {}
  };
};
static_assert(allot::guarded_placement<guarded> && !allot::guarded_placement<revocable>);
static_assert(!allot::guarded_placement<makes_it_of_nothing>);
static_assert(!allot::guarded_placement<does_not_tell_places>);
static_assert(allot::revocable_placement<revocable>);
static_assert(!allot::revocable_placement<says_not_what_it_has> && !allot::revocable_placement<least>);

}  // namespace placement_archetypes

TEST_CASE("placement: no_placement places everything") {
  no_placement p;
  const auto before = p.save();
  const auto at = p.place({});
  REQUIRE(at.has_value());
  CHECK(p.ready(*at));
  CHECK(p.could_ever_fit({}));
  p.vacate(*at);
  p.reoccupy(*at);
  CHECK(p.ready(*at));
  p.release(*at);
  p.rollback(before);
  CHECK(p.place({}).has_value());
}

TEST_CASE("placement: one that does not say otherwise has nodes, and its places stay usable") {
  using defaults = allot::detail::placement_or_default;
  using placement_archetypes::least;
  using placement_archetypes::revocable;
  CHECK(defaults::has_nodes(least{}));
  CHECK_FALSE(defaults::has_nodes(no_placement{}));
  CHECK_FALSE(defaults::has_nodes(allot::sim::places{}));
  CHECK(defaults::usable(least{}, 0, least::pod_request{}));
  CHECK_FALSE(defaults::usable(revocable{}, 0, least::pod_request{}));
  CHECK(defaults::next_change(least{}, 0) == allot::without_end);
  CHECK(defaults::next_change(placement_archetypes::foreseeing{}, 0) == 7);
}

TEST_CASE("placement: could_place changes nothing") {
  allot::gpu::inventory nodes{allot::gpu::build_cluster({{.name = "n", .count = 2, .gpus = 4}}).value()};
  const allot::gpu::inventory before = nodes;
  CHECK(allot::could_place(nodes, {.gpus = allot::gpus(4), .pods = 2}));
  CHECK_FALSE(allot::could_place(nodes, {.gpus = allot::gpus(4), .pods = 3}));
  CHECK(nodes == before);
}
