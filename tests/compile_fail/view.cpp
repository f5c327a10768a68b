// SPDX-License-Identifier: BSL-1.0
// Views that lack something, or have it in another shape. Each case is a macro, and the line below it is what
// the first error must say. Without a case the view is right.
#include <allot/scheduler/detail/view_check.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

using allot::quota_id;
using allot::resources;

/// A value that is no number.
struct text {
  const char* first = "";
};
struct not_copyable {
  not_copyable() = default;
  not_copyable(const not_copyable&) = delete;
  not_copyable& operator=(const not_copyable&) = delete;
};

#ifdef view_is_no_class
// allot: the view must be a class that can be copied
using view = int;
#else
struct view {
#ifdef view_is_not_copyable
  // allot: the view must be a class that can be copied
  not_copyable table;
#endif

#ifdef job_is_not_regular
  // allot: the view's job must be default constructible, copyable and comparable by ==
  using job = not_copyable;
#elif defined job_has_no_equality
  // allot: the view's job must be default constructible, copyable and
  struct job {};
#elif defined job_is_private
  // allot: the view must say what a job is, by a public `using job = ...`
 private:
  using job = int;

 public:
#elif defined job_is_missing
  // allot: the view must say what a job is, by a public `using job = ...`
#define job int
#else
  using job = int;
#endif

#ifdef quota_is_missing
  // allot: the view must have `allot::quota_id quota(const job&) const`
#elif defined quota_is_misspelt
  // allot: the view must have `allot::quota_id quota(const job&) const`
  quota_id get_quota(const job&) const;
#elif defined quota_is_an_index
  // allot: the view must have `allot::quota_id quota(const job&) const`
  std::size_t quota(const job&) const;
#elif defined quota_is_not_const
  // allot: the view must have `allot::quota_id quota(const job&) const`
  quota_id quota(const job&);
#elif defined quota_wants_to_change_the_job
  // allot: the view must have `allot::quota_id quota(const job&) const`
  quota_id quota(job&) const;
#else
  quota_id quota(const job&) const;
#endif

#ifdef request_is_missing
  // allot: the view must have `allot::resources<N> request(const job&) const`
#elif defined request_is_misspelt
  // allot: the view must have `allot::resources<N> request(const job&) const`
  resources<> requests(const job&) const;
#elif defined request_is_an_int
  // allot: the view must have `allot::resources<N> request(const job&) const`
  int request(const job&) const;
#elif defined request_is_a_quantity
  // allot: the view must have `allot::resources<N> request(const job&) const`
  allot::quantity request(const job&) const;
#elif defined request_is_not_const
  // allot: the view must have `allot::resources<N> request(const job&) const`
  resources<> request(const job&);
#else
  resources<> request(const job&) const;
#endif

#ifdef priority_is_missing
  // allot: the view must have `std::int64_t priority(const job&) const`
#elif defined priority_is_misspelt
  // allot: the view must have `std::int64_t priority(const job&) const`
  int prio(const job&) const;
#elif defined priority_is_an_unsigned_long
  // allot: the view must have `std::int64_t priority(const job&) const`, or return an integer of which every
  unsigned long priority(const job&) const;
#elif defined priority_is_an_unsigned_long_long
  // allot: the view must have `std::int64_t priority(const job&) const`, or return an integer of which every
  unsigned long long priority(const job&) const;
#elif defined priority_is_a_wide_enumeration
  // allot: the view must have `std::int64_t priority(const job&) const`, or return an integer of which every
  enum level : std::uint64_t {};
  level priority(const job&) const;
#elif defined priority_stands_for_an_unsigned_long
  // allot: the view must have `std::int64_t priority(const job&) const`, or return an integer of which every
  struct level {
    operator std::uint64_t() const;
  };
  level priority(const job&) const;
#elif defined priority_is_wider
  // allot: the view must have `std::int64_t priority(const job&) const`, or return an integer of which every
  __extension__ __int128 priority(const job&) const;
#elif defined priority_is_a_bool
  // allot: the view must have `std::int64_t priority(const job&) const`
  bool priority(const job&) const;
#elif defined priority_is_a_double
  // allot: the view must have `std::int64_t priority(const job&) const`
  double priority(const job&) const;
#elif defined priority_is_a_name
  // allot: the view must have `std::int64_t priority(const job&) const`
  const char* priority(const job&) const;
#elif defined priority_is_not_const
  // allot: the view must have `std::int64_t priority(const job&) const`
  int priority(const job&);
#else
  int priority(const job&) const;
#endif

#ifdef submitted_is_a_double
  // allot: the view's submitted must be `allot::instant submitted(const job&) const`
  double submitted(const job&) const;
#elif defined submitted_is_an_unsigned_long
  // allot: the view's submitted must be `allot::instant submitted(const job&) const`
  std::uint64_t submitted(const job&) const;
#elif defined submitted_is_not_const
  // allot: the view's submitted must be `allot::instant submitted(const job&) const`
  allot::instant submitted(const job&);
#elif defined submitted_is_a_text
  // allot: the view's submitted must be `allot::instant submitted(const job&) const`
  text submitted(const job&) const;
#endif

#ifdef time_point_is_a_number
  // allot: the view's time_point must be a std::chrono::time_point of a signed 64-bit integer, or a type of
  using time_point = std::int64_t;
#elif defined time_point_counts_in_fractions
  // allot: the view's time_point must be a std::chrono::time_point of a signed 64-bit integer, or a type of
  using time_point = std::chrono::sys_time<std::chrono::duration<double> >;
#elif defined duration_without_a_time_point
  // must be `allot::instant duration(const job&) const`, or with `using time_point = ...` return a
  // std::chrono
  std::chrono::seconds duration(const job&) const;
#elif defined submitted_is_a_span_of_time
  // must be `allot::instant submitted(const job&) const`, or with `using time_point = ...` return that
  using time_point = std::chrono::sys_seconds;
  std::chrono::seconds submitted(const job&) const;
#elif defined submitted_is_of_another_clock
  // must be `allot::instant submitted(const job&) const`, or with `using time_point = ...` return that
  using time_point = std::chrono::sys_seconds;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::seconds> submitted(const job&) const;
#elif defined ready_at_is_a_span_of_time
  // must be `allot::instant ready_at(const job&) const`, or with `using time_point = ...` return that
  using time_point = std::chrono::sys_seconds;
  std::chrono::seconds ready_at(const job&) const;
#elif defined ready_at_is_a_number_beside_a_time_point
  // must be `allot::instant ready_at(const job&) const`, or with `using time_point = ...` return that
  using time_point = std::chrono::sys_seconds;
  allot::instant ready_at(const job&) const;
#elif defined time_limit_is_a_point_in_time
  // must be `allot::instant time_limit(const job&) const`, or with `using time_point = ...` return a
  // std::chrono
  using time_point = std::chrono::sys_seconds;
  std::chrono::sys_seconds time_limit(const job&) const;
#elif defined estimate_is_a_number_beside_a_time_point
  // must be `allot::instant estimate(const job&) const`, or with `using time_point = ...` return a
  // std::chrono
  using time_point = std::chrono::sys_seconds;
  allot::instant estimate(const job&) const;
#elif defined estimate_counts_in_unsigned_longs
  // must be `allot::instant estimate(const job&) const`, or with `using time_point = ...` return a
  // std::chrono
  using time_point = std::chrono::sys_seconds;
  std::chrono::duration<std::uint64_t> estimate(const job&) const;
#elif defined restart_is_of_a_finer_unit
  // must be `allot::instant restart(const job&) const`, or with `using time_point = ...` return a std::chrono
  using time_point = std::chrono::sys_seconds;
  std::chrono::minutes checkpoint(const job&) const;
  std::chrono::milliseconds restart(const job&) const;
#endif

#ifdef id_is_a_text
  // allot: the view's id must be `std::uint64_t id(const job&) const`
  text id(const job&) const;
#elif defined id_is_wider
  // allot: the view's id must be `std::uint64_t id(const job&) const`
  __extension__ unsigned __int128 id(const job&) const;
#elif defined id_is_not_const
  // allot: the view's id must be `std::uint64_t id(const job&) const`
  std::uint64_t id(const job&);
#endif

#ifdef preemptible_is_an_int
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  int preemptible(const job&) const;
#elif defined preemptible_is_not_const
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  bool preemptible(const job&);
#elif defined preemptible_takes_a_name
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  bool preemptible(const text&) const;
#elif defined preemptible_is_data
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  bool preemptible = false;
#elif defined preemptible_is_overloaded_wrongly
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  bool preemptible(const text&) const;
  static bool preemptible(const char*, int);
#elif defined preemptible_is_private
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
 private:
  bool preemptible(const job&) const;

 public:
#elif defined preemptible_is_a_template_of_nobody
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  template <class T>
  bool preemptible(const T*) const;
#endif

#ifdef duration_is_a_double
  // allot: the view's duration must be `allot::instant duration(const job&) const`
  double duration(const job&) const;
#elif defined duration_is_an_unsigned_long
  // allot: the view's duration must be `allot::instant duration(const job&) const`
  std::uint64_t duration(const job&) const;
#elif defined duration_is_a_text
  // allot: the view's duration must be `allot::instant duration(const job&) const`
  text duration(const job&) const;
#elif defined duration_is_not_const
  // allot: the view's duration must be `allot::instant duration(const job&) const`
  allot::instant duration(const job&);
#endif

#ifdef ready_at_is_a_double
  // allot: the view's ready_at must be `allot::instant ready_at(const job&) const`
  double ready_at(const job&) const;
#elif defined ready_at_is_an_unsigned_long
  // allot: the view's ready_at must be `allot::instant ready_at(const job&) const`
  std::uint64_t ready_at(const job&) const;
#elif defined ready_at_is_a_bool
  // allot: the view's ready_at must be `allot::instant ready_at(const job&) const`
  bool ready_at(const job&) const;
#elif defined ready_at_is_not_const
  // allot: the view's ready_at must be `allot::instant ready_at(const job&) const`
  allot::instant ready_at(const job&);
#endif

#ifdef estimate_is_a_double
  // allot: the view's estimate must be `allot::instant estimate(const job&) const`
  double estimate(const job&) const;
#elif defined estimate_is_an_unsigned_long
  // allot: the view's estimate must be `allot::instant estimate(const job&) const`
  std::uint64_t estimate(const job&) const;
#elif defined estimate_is_not_const
  // allot: the view's estimate must be `allot::instant estimate(const job&) const`
  allot::instant estimate(const job&);
#endif

#ifdef time_limit_is_a_double
  // allot: the view's time_limit must be `allot::instant time_limit(const job&) const`
  double time_limit(const job&) const;
#elif defined time_limit_is_an_unsigned_long
  // allot: the view's time_limit must be `allot::instant time_limit(const job&) const`
  std::uint64_t time_limit(const job&) const;
#elif defined time_limit_is_not_const
  // allot: the view's time_limit must be `allot::instant time_limit(const job&) const`
  allot::instant time_limit(const job&);
#endif

#ifdef checkpoint_is_a_bool
  // allot: the view's checkpoint must be `allot::instant checkpoint(const job&) const`
  bool checkpoint(const job&) const;
  allot::instant restart(const job&) const;
#elif defined checkpoint_is_an_unsigned_long
  // allot: the view's checkpoint must be `allot::instant checkpoint(const job&) const`
  std::uint64_t checkpoint(const job&) const;
  allot::instant restart(const job&) const;
#elif defined restart_is_an_unsigned_long
  // allot: the view's restart must be `allot::instant restart(const job&) const`
  allot::instant checkpoint(const job&) const;
  std::uint64_t restart(const job&) const;
#elif defined restart_is_not_const
  // allot: the view's restart must be `allot::instant restart(const job&) const`
  allot::instant checkpoint(const job&) const;
  allot::instant restart(const job&);
#elif defined checkpoint_is_alone
  // allot: checkpoint and restart go together
  allot::instant checkpoint(const job&) const;
#elif defined restart_is_alone
  // allot: checkpoint and restart go together
  allot::instant restart(const job&) const;
#endif

#ifdef pods_is_a_long
  // allot: the view's pods must be `std::uint32_t pods(const job&) const`
  std::uint64_t pods(const job&) const;
  std::uint32_t min_pods(const job&) const;
#elif defined min_pods_is_not_const
  // allot: the view's min_pods must be `std::uint32_t min_pods(const job&) const`
  std::uint32_t pods(const job&) const;
  std::uint32_t min_pods(const job&);
  resources<> request(const job&, std::uint32_t) const;
#elif defined pods_is_alone
  // allot: pods and min_pods go together
  std::uint32_t pods(const job&) const;
#elif defined min_pods_is_alone
  // allot: pods and min_pods go together
  std::uint32_t min_pods(const job&) const;
#elif defined request_by_pods_is_missing
  // must have `allot::resources<N> request(const job&, std::uint32_t
  // pods) const`
  std::uint32_t pods(const job&) const;
  std::uint32_t min_pods(const job&) const;
#elif defined request_by_pods_is_not_const
  // must have `allot::resources<N> request(const job&,
  // std::uint32_t pods) const`
  std::uint32_t pods(const job&) const;
  std::uint32_t min_pods(const job&) const;
  resources<> request(const job&, std::uint32_t);
#elif defined request_by_pods_has_other_dimensions
  // must have `allot::resources<N> request(const job&,
  // std::uint32_t
  std::uint32_t pods(const job&) const;
  std::uint32_t min_pods(const job&) const;
  resources<2> request(const job&, std::uint32_t) const;
#endif

#ifdef flavors_takes_no_pods
  // allot: the view's flavors must be `allot::flavor_menu<N> flavors(const job&,
  allot::flavor_menu<> flavors(const job&) const;
#elif defined flavors_is_not_const
  // allot: the view's flavors must be `allot::flavor_menu<N> flavors(const job&,
  allot::flavor_menu<> flavors(const job&, std::uint32_t);
#elif defined flavors_has_other_dimensions
  // allot: the view's flavors must be `allot::flavor_menu<N> flavors(const job&,
  allot::flavor_menu<2> flavors(const job&, std::uint32_t) const;
#endif

#ifdef capacity_is_an_int
  // allot: the view's capacity must be `allot::resources<N> capacity() const`
  int capacity() const;
#elif defined capacity_is_not_const
  // allot: the view's capacity must be `allot::resources<N> capacity() const`
  resources<> capacity();
#endif
};
#endif

#ifdef preemptible_of_a_final_class_is_an_int
// allot: the view's preemptible must be `bool preemptible(const job&) const`
struct last final : view {
  int preemptible(const job&) const;
};
static_assert(allot::detail::is_view<last, allot::no_placement>());
#else
static_assert(allot::detail::is_view<view, allot::no_placement>());
#endif
