// SPDX-License-Identifier: BSL-1.0
// Placements that lack something, and views that do not show what a placement needs; see view.cpp.
#include <allot/core/journal.hpp>
#include <allot/scheduler/detail/view_check.hpp>
#include <allot/scheduler/with_pod_sets.hpp>

#include <cstdint>
#include <optional>
#include <span>

struct inventory {
#ifdef pod_request_has_no_equality
  // allot: the placement must have a type `pod_request`, default constructible, copyable and comparable by ==
  struct pod_request {};
#elif defined room_key_is_of_another_type
  // allot: the pod request's optional member room_key must be `pod_request room_key() const`
  struct pod_request {
    int room_key() const;
    friend bool operator==(const pod_request&, const pod_request&) = default;
  };
#elif defined pod_request_refers_to_sets_itself
  // allot: with_pod_sets is for placements whose requests don't know sets and stand for themselves
  struct pod_request {
    class referents;
    friend bool operator==(const pod_request&, const pod_request&) = default;
  };
#else
  using pod_request = int;
#endif
#ifdef allocation_is_missing
// allot: the placement must have a type `allocation`, default constructible, copyable and comparable by ==
#define allocation int
#else
  using allocation = int;
#endif

#ifdef place_is_not_optional
  // allot: the placement must have `std::optional<allocation> place(const pod_request&)`
  allocation place(const pod_request&);
#else
  std::optional<allocation> place(const pod_request&);
#endif
#ifdef release_is_missing
  // allot: the placement must have `void release(const allocation&) noexcept`
#elif defined release_may_throw
  // allot: the placement must have `void release(const allocation&) noexcept`
  void release(allocation);
#else
  void release(allocation) noexcept;
#endif
#ifdef vacate_is_misspelt
  // allot: the placement must have `void vacate(const allocation&) noexcept`
  void vacated(allocation) noexcept;
#elif defined vacate_may_throw
  // allot: the placement must have `void vacate(const allocation&) noexcept`
  void vacate(allocation);
#else
  void vacate(allocation) noexcept;
#endif
#ifdef reoccupy_is_missing
  // allot: the placement must have `void reoccupy(const allocation&) noexcept`
#elif defined reoccupy_may_throw
  // allot: the placement must have `void reoccupy(const allocation&) noexcept`
  void reoccupy(allocation);
#else
  void reoccupy(allocation) noexcept;
#endif
#ifdef ready_is_not_const
  // allot: the placement must have `bool ready(allocation) const`
  bool ready(allocation);
#else
  bool ready(allocation) const;
#endif
#ifdef could_ever_fit_is_an_int
  // allot: the placement must have `bool could_ever_fit(const pod_request&) const`
  int could_ever_fit(const pod_request&) const;
#else
  bool could_ever_fit(const pod_request&) const;
#endif
#ifdef why_not_is_missing
  // allot: the placement must have `reason why_not(const pod_request&) const`
#else
  int why_not(const pod_request&) const;
#endif
#ifdef savepoints_are_missing
  // allot: the placement must have `savepoint save()`, where savepoint is a movable type
#else
  allot::savepoint save();
#ifdef rollback_is_missing
  // allot: the placement must have `void rollback(savepoint) noexcept`, of the type that save() returns
#elif defined rollback_may_throw
  // allot: the placement must have `void rollback(savepoint) noexcept`, of the type that save() returns
  void rollback(allot::savepoint);
#else
  void rollback(allot::savepoint) noexcept;
#endif
#ifdef commit_is_missing
  // allot: the placement must have `void commit(savepoint) noexcept`, of the type that save() returns
#elif defined commit_may_throw
  // allot: the placement must have `void commit(savepoint) noexcept`, of the type that save() returns
  void commit(allot::savepoint);
#else
  void commit(allot::savepoint) noexcept;
#endif
#endif
#ifdef usable_is_not_const
  // allot: usable and contains go together: the placement must have `bool usable(allocation) const` and
  bool contains(allocation) const;
  bool usable(allocation);
#elif defined usable_is_alone
  // allot: usable and contains go together: the placement must have `bool usable(allocation) const` and
  bool contain(allocation) const;
  bool usable(allocation) const;
#endif
#ifdef host_nodes_are_made_of_nothing
  // allot: the placement's type `host_nodes` must be constructible from a reference to it
  struct host_nodes {};
  bool contains(allocation) const;
  bool usable(allocation) const;
#elif defined host_nodes_of_unknown_places
  // allot: a placement with a type `host_nodes` must tell its places: it must have `bool contains(allocation)
  struct host_nodes {
    explicit host_nodes(inventory&);
  };
#endif
#ifdef could_place_takes_a_number_too_many
  // allot: the placement's optional member could_place must be `bool could_place(const pod_request&)`
  bool could_place(const pod_request&, std::uint32_t);
#endif
#ifdef has_nodes_is_not_const
  // allot: the placement's optional member has_nodes must be `bool has_nodes() const`
  bool has_nodes();
#endif
#ifdef next_change_without_look_ahead
  // allot: next_change and look_ahead go together: the placement must have `instant next_change(instant)
  // const`
  std::int64_t next_change(std::int64_t) const;
#endif
#ifdef place_sets_returns_the_places
  // allot: the placement's optional member place_sets must be `bool place_sets(std::span<const pod_request>,
  std::optional<allocation> place_sets(std::span<const pod_request>);
#elif defined place_sets_takes_no_places
  // allot: the placement's optional member place_sets must be `bool place_sets(std::span<const pod_request>,
  bool place_sets(std::span<const pod_request>);
#endif
#if defined counter_lacks_helps || defined counter_has_keep_alone || defined counter_has_might_fit_alone
  struct room_counter {
    bool begin(const inventory&, int);
    void gone(const inventory&, int);
    void back(const inventory&, int);
    std::optional<bool> fits(std::uint64_t) const;
#ifdef counter_lacks_helps
    // allot: the placement's type `room_counter` must model allot::placement_room: begin, gone, back, fits,
#elif defined counter_has_keep_alone
    // allot: keep, look and taken_by of the placement's type `room_counter` go together: see
    bool helps(const inventory&, int);
    bool keep(const inventory&, int);
#elif defined counter_has_might_fit_alone
    // allot: might_fit, may_go and may_not_go of the placement's type `room_counter` go together: see
    bool helps(const inventory&, int);
    bool might_fit(const inventory&, int, std::span<const std::uint32_t>);
#endif
  };
#endif
};

struct jobs {
  using job = const int*;
  allot::quota_id quota(job) const;
  allot::resources<> request(job) const;
  std::int64_t priority(job) const;
#ifdef demand_is_missing
  // allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
#elif defined demand_is_misspelt
  // allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
  int demands(job) const;
#elif defined demand_is_a_double
  // allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
  double pod_request(job) const;
#elif defined demand_is_unsigned
  // allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
  unsigned pod_request(job) const;
#elif defined demand_is_not_const
  // allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
  int pod_request(job);
#else
  int pod_request(job) const;
#endif
};

struct elastic_jobs {
  using job = const int*;
  allot::quota_id quota(job) const;
  allot::resources<> request(job) const;
  std::int64_t priority(job) const;
  std::uint32_t pods(job) const;
  std::uint32_t min_pods(job) const;
  allot::resources<> request(job, std::uint32_t) const;
  int pod_request(job) const;
#ifdef demand_by_pods_is_missing
  // allot: with a placement and min_pods the view must have `Placement::pod_request pod_request(const job&,
  // std::uint32_t
#elif defined demand_by_pods_is_not_const
  // allot: with a placement and min_pods the view must have `Placement::pod_request pod_request(const job&,
  // std::uint32_t
  int pod_request(job, std::uint32_t);
#else
  int pod_request(job, std::uint32_t) const;
#endif
};

struct flavored_jobs {
  using job = const int*;
  allot::quota_id quota(job) const;
  allot::resources<> request(job) const;
  std::int64_t priority(job) const;
  int pod_request(job) const;
  allot::flavor_menu<> flavors(job, std::uint32_t) const;
#ifdef demand_by_flavors_is_missing
  // allot: with a placement and flavors the view must have `Placement::pod_request pod_request(const job&,
  // std::uint32_t
#elif defined demand_by_flavors_wants_to_change_the_pick
  // allot: with a placement and flavors the view must have `Placement::pod_request pod_request(const job&,
  // std::uint32_t
  int pod_request(job, std::uint32_t, allot::flavor_pick&) const;
#else
  int pod_request(job, std::uint32_t, const allot::flavor_pick&) const;
#endif
};

struct jobs_of_sets {
  using job = const int*;
  allot::quota_id quota(job) const;
  allot::resources<> request(job) const;
  std::int64_t priority(job) const;
  std::uint32_t pods(job) const;
  std::uint32_t min_pods(job) const;
  allot::resources<> request(job, std::uint32_t) const;
  std::uint32_t pod_sets(job) const;
  std::uint32_t pods(job, allot::pod_set_id) const;
  std::uint32_t min_pods(job, allot::pod_set_id) const;
  allot::resources<> request(job, allot::pod_set_id) const;
  int pod_request(job) const;
  int pod_request(job, std::uint32_t) const;
#ifdef demand_of_a_set_is_missing
  // allot: with a placement and pod_sets the view must have `Placement::pod_request pod_request(const job&,
  // allot::pod_set_id set) const`, with flavors also with `const allot::flavor_pick&`; where requests can't
  // say several sets, allot::with_pod_sets<Placement> has some that can
#else
  int pod_request(job, allot::pod_set_id) const;
#endif
};

static_assert(allot::detail::is_placement<inventory>());
using with_sets = allot::with_pod_sets<inventory>;
static_assert(sizeof(with_sets) > 0);
static_assert(allot::detail::is_view<jobs, inventory>());
static_assert(allot::detail::is_view<elastic_jobs, inventory>());
static_assert(allot::detail::is_view<flavored_jobs, inventory>());
static_assert(allot::detail::is_view<jobs_of_sets, inventory>());
