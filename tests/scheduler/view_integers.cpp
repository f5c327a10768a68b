// SPDX-License-Identifier: BSL-1.0
// Every integer that a view returns, at the ends of the types in which it may return it: it is taken for what
// it is, or the job is refused. What does not compile: tests/compile_fail.
#include <allot/presets/single_queue.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/state_text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::job_state;
using allot::refusal;

/// Jobs of one quota whose numbers are of these types.
template <class Number, class Id, class Pods>
struct numbers {
  struct row {
    Number priority{};
    Number submitted{};
    Id id{};
    Number duration{};
    Pods pods = 1;
    Pods min_pods = 1;
    Number time_limit{};
    Number estimate{};
    Number checkpoint{};
    Number restart{};
    Number ready{};
  };
  using number = Number;
  using id_type = Id;
  using pods_type = Pods;
  using job = const row*;

  allot::quota_id quota(job) const { return allot::quota_id{0}; }
  allot::resources<> request(job j) const { return request(j, 1); }
  allot::resources<> request(job, std::uint32_t pods) const { return gpus(1) * pods; }
  Number priority(job j) const { return j->priority; }
  Number submitted(job j) const { return j->submitted; }
  Id id(job j) const { return j->id; }
  Number duration(job j) const { return j->duration; }
  Pods pods(job j) const { return j->pods; }
  Pods min_pods(job j) const { return j->min_pods; }
  Number time_limit(job j) const { return j->time_limit; }
  Number estimate(job j) const { return j->estimate; }
  Number checkpoint(job j) const { return j->checkpoint; }
  Number restart(job j) const { return j->restart; }
  Number ready_at(job j) const { return j->ready; }
};
/// The widest types of either sign that a view may return.
using signed_numbers = numbers<std::int64_t, std::int64_t, std::int32_t>;
using unsigned_numbers = numbers<std::uint32_t, std::uint64_t, std::uint32_t>;

/// The least and the greatest of a type and what is next to them, or to zero; in order.
template <class T>
[[nodiscard]] std::vector<T> ends_of() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all{limits::min(), limits::min() + 1, T{0}, T{1}, limits::max() - 1, limits::max()};
  if (limits::is_signed) all.push_back(static_cast<T>(-1));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

template <class View>
class team {
 public:
  using row = typename View::row;
  using policies = allot::policies<allot::best_job_first, allot::by_settings, allot::cheapest_lost_work>;
  using scheduler_type = allot::scheduler<View, allot::no_placement, policies>;

  explicit team(std::int64_t size)
      : scheduler{View{}, allot::build_quota_tree<1>({{.name = "team", .nominal = gpus(size)}}).value()} {}

  allot::submission submit(const row& r) {
    rows_.push_back(r);
    return scheduler.submit(&rows_.back());
  }
  /// Runs all jobs, one after the other; returns them in the order of their starts.
  std::vector<const row*> run_all() {
    std::vector<const row*> started;
    for (;;) {
      const auto& plan = scheduler.step(++now);
      if (plan.admissions.empty()) return started;
      REQUIRE(plan.admissions.size() == 1);
      started.push_back(plan.admissions[0].what);
      scheduler.finished(plan.admissions[0].id);
    }
  }
  /// Starts it at once.
  job_id run(const row& r) {
    const job_id id = submit(r);
    scheduler.step(++now);
    REQUIRE(scheduler.state(id) == job_state::running);
    return id;
  }
  /// Another scheduler takes over, from a text.
  void restart() {
    const auto none = [](const auto&) { return std::string{}; };
    const auto number_of = [this](const row* j) {
      const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const row& r) { return &r == j; });
      return std::to_string(at - rows_.begin());
    };
    const auto row_of = [this](const std::string& number) {
      return std::optional<const row*>{&rows_[std::stoul(number)]};
    };
    using place = typename allot::no_placement::allocation;
    const std::string text = to_text(scheduler.state(), number_of, none);
    const auto state = allot::state_from_text<const row*, place>(
        text, row_of, [](std::string_view) { return std::optional{place{}}; });
    REQUIRE(state);
    scheduler = scheduler_type{View{}, scheduler.tree()};
    REQUIRE(scheduler.resume(state.value()));
  }
  /// Whether a job of that priority preempts the only one that runs.
  bool preempts(const row& r) {
    const job_id id = submit(r);
    const bool does = !scheduler.step(++now).evictions.empty();
    if (!does) scheduler.cancel(id);
    return does;
  }

  scheduler_type scheduler;
  instant now = 0;

 private:
  std::deque<row> rows_;
};

/// In what order jobs start that differ in one number, submitted in any order to a scheduler that has to
/// restart before it starts them.
template <class View, class T>
[[nodiscard]] std::vector<T> order_by(T View::row::*member) {
  team<View> t{1};
  std::vector<T> values = ends_of<T>();
  std::shuffle(values.begin(), values.end(), std::minstd_rand{7});
  for (const T& value : values) {
    typename View::row r{};
    r.*member = value;
    REQUIRE(t.submit(r));
  }
  t.restart();
  std::vector<T> found;
  for (const auto* r : t.run_all()) found.push_back(r->*member);
  return found;
}

template <class View>
void starts_by_priority() {
  auto expected = ends_of<typename View::number>();
  std::reverse(expected.begin(), expected.end());
  CHECK(order_by<View>(&View::row::priority) == expected);
}

template <class View>
void preempts_lower_priorities() {
  for (const auto runs : ends_of<typename View::number>()) {
    for (const auto claims : ends_of<typename View::number>()) {
      team<View> t{1};
      t.run({.priority = runs});
      t.restart();
      CHECK(t.preempts({.priority = claims}) == (claims > runs));
    }
  }
}

template <class View>
void runs_until(typename View::number limit) {
  team<View> t{1};
  const job_id id = t.run({.time_limit = limit});
  const bool is_forever = limit <= 0 || limit == std::numeric_limits<instant>::max();
  const instant end = is_forever ? std::numeric_limits<instant>::max() : t.now + static_cast<instant>(limit);
  t.scheduler.step(end - 1);
  CHECK(t.scheduler.state(id) == job_state::running);
  if (is_forever) return;
  t.scheduler.step(end);
  CHECK(t.scheduler.state(id) == job_state::evicting);
}

template <class View>
void is_ready_at(typename View::number ready) {
  constexpr instant first = 1;
  constexpr instant never = std::numeric_limits<instant>::max();
  const auto at = static_cast<instant>(ready);
  team<View> t{1};
  const job_id id = t.submit({.ready = ready});
  t.scheduler.step(first);
  CHECK(t.scheduler.state(id) == (at <= first ? job_state::running : job_state::pending));
  if (at <= first) return;
  t.restart();
  CHECK(t.scheduler.why(id).ready_at == at);
  CHECK(t.scheduler.wakes_at() == (at == never ? std::nullopt : std::optional{at}));
  t.scheduler.step(at - 1);
  CHECK(t.scheduler.state(id) == job_state::pending);
  if (at == never) return;
  t.scheduler.step(at);
  CHECK(t.scheduler.state(id) == job_state::running);
}

/// The start that is reserved for a job behind one that runs from 1 on.
template <class View>
[[nodiscard]] instant reserved_behind(typename View::number estimate) {
  team<View> t{1};
  allot::queue_settings settings;
  settings.head = allot::queue_head::reserve;
  REQUIRE(t.scheduler.configure(allot::quota_id{0}, settings).empty());
  t.run({.estimate = estimate});
  const job_id waits = t.submit({});
  t.scheduler.step(++t.now);
  const auto reserved = t.scheduler.reservation_of(waits);
  return reserved ? reserved->start : allot::without_end;
}

/// Which of two jobs, of which the second is the newer, is preempted for a third.
template <class View>
[[nodiscard]] int yields(const typename View::row& first, const typename View::row& second) {
  team<View> t{2};
  const job_id one = t.run(first);
  const job_id two = t.run(second);
  REQUIRE(t.submit({.priority = 1}));
  t.scheduler.step(t.now += 10);
  CHECK((t.scheduler.state(one) == job_state::evicting) != (t.scheduler.state(two) == job_state::evicting));
  return t.scheduler.state(one) == job_state::evicting ? 1 : 2;
}

}  // namespace

TEST_CASE("view_integers: a job of higher priority starts first, whatever the type") {
  starts_by_priority<signed_numbers>();
  starts_by_priority<unsigned_numbers>();
  // Slurm's priorities.
  team<unsigned_numbers> t{1};
  REQUIRE(t.submit({.priority = 1}));
  REQUIRE(t.submit({.priority = 3'000'000'000U}));
  CHECK(t.run_all().front()->priority == 3'000'000'000U);
}

TEST_CASE("view_integers: a job of higher priority preempts, whatever the type") {
  preempts_lower_priorities<signed_numbers>();
  preempts_lower_priorities<unsigned_numbers>();
}

TEST_CASE("view_integers: what was submitted first starts first") {
  CHECK(order_by<signed_numbers>(&signed_numbers::row::submitted) == ends_of<std::int64_t>());
  CHECK(order_by<unsigned_numbers>(&unsigned_numbers::row::submitted) == ends_of<std::uint32_t>());
}

TEST_CASE("view_integers: ids break ties in their order, negative ones after the others") {
  CHECK(order_by<unsigned_numbers>(&unsigned_numbers::row::id) == ends_of<std::uint64_t>());
  std::vector<std::int64_t> expected = ends_of<std::int64_t>();
  std::rotate(expected.begin(), std::find(expected.begin(), expected.end(), 0), expected.end());
  CHECK(order_by<signed_numbers>(&signed_numbers::row::id) == expected);
}

TEST_CASE("view_integers: the shortest is first") {
  const auto keys = [](auto view) {
    std::vector<std::int64_t> all;
    for (const auto duration : ends_of<typename decltype(view)::number>()) {
      const typename decltype(view)::row r{.duration = duration};
      all.push_back(allot::shortest_first{}(view, &r, {}));
    }
    return all;
  };
  CHECK(keys(signed_numbers{}) == ends_of<std::int64_t>());
  const std::vector<std::uint32_t> all = ends_of<std::uint32_t>();
  CHECK(keys(unsigned_numbers{}) == std::vector<std::int64_t>(all.begin(), all.end()));
}

TEST_CASE("view_integers: a negative number of pods is refused, and the largest is that large") {
  team<signed_numbers> t{4};
  for (const std::int32_t negative : {-1, std::numeric_limits<std::int32_t>::min()}) {
    CHECK(t.submit({.pods = negative, .min_pods = negative}).why_not == refusal::invalid_request);
    CHECK(t.submit({.pods = 1, .min_pods = negative}).why_not == refusal::invalid_request);
    CHECK(t.submit({.pods = negative, .min_pods = 1}).why_not == refusal::invalid_request);
  }
  const auto pods_of = [](auto view) {
    using view_type = decltype(view);
    constexpr auto most = std::numeric_limits<typename view_type::pods_type>::max();
    team<view_type> of_four{4};
    const job_id all = of_four.submit({.pods = most, .min_pods = most});
    of_four.scheduler.step(1);
    CHECK(of_four.scheduler.state(all) == job_state::pending);
    CHECK(of_four.scheduler.request(all) == gpus(most));
    // An elastic one has as many as there is room for.
    const job_id some = of_four.submit({.pods = most, .min_pods = 1});
    for (instant now = 2; now < 8; ++now) of_four.scheduler.step(now);
    return of_four.scheduler.ledger().own_usage(of_four.scheduler.quota(some), 0);
  };
  CHECK(pods_of(signed_numbers{}) == gpus(4));
  CHECK(pods_of(unsigned_numbers{}) == gpus(4));
}

TEST_CASE("view_integers: a time limit of 0 or less is none, and the longest never comes") {
  for (const std::int64_t limit : ends_of<std::int64_t>()) runs_until<signed_numbers>(limit);
  for (const std::uint32_t limit : ends_of<std::uint32_t>()) runs_until<unsigned_numbers>(limit);
}

TEST_CASE("view_integers: a job is ready at that time, at once if it has passed, and never at the last") {
  for (const std::int64_t ready : ends_of<std::int64_t>()) is_ready_at<signed_numbers>(ready);
  for (const std::uint32_t ready : ends_of<std::uint32_t>()) is_ready_at<unsigned_numbers>(ready);
}

TEST_CASE("view_integers: an estimate of 0 or less is unknown, and the longest is that long") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t unknown :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, most}) {
    CHECK(reserved_behind<signed_numbers>(unknown) == allot::without_end);
  }
  CHECK(reserved_behind<signed_numbers>(most - 2) == most - 1);
  CHECK(reserved_behind<unsigned_numbers>(0) == allot::without_end);
  CHECK(reserved_behind<unsigned_numbers>(std::numeric_limits<std::uint32_t>::max()) ==
        std::int64_t{1} + std::numeric_limits<std::uint32_t>::max());
}

TEST_CASE("view_integers: a checkpoint of 0 or less is none, a restart of 0 or less is free") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();
  // The newer one, which has less to lose, would yield.
  CHECK(yields<signed_numbers>({}, {}) == 2);
  CHECK(yields<signed_numbers>({.checkpoint = 1}, {.checkpoint = least}) == 1);
  CHECK(yields<signed_numbers>({.checkpoint = 1}, {.checkpoint = most}) == 1);
  CHECK(yields<unsigned_numbers>({.checkpoint = 1}, {.checkpoint = largest}) == 1);
  CHECK(yields<signed_numbers>({}, {.restart = most}) == 1);
  CHECK(yields<signed_numbers>({.restart = most - 10}, {.restart = most}) == 1);
  CHECK(yields<unsigned_numbers>({}, {.restart = largest}) == 1);
  CHECK(yields<signed_numbers>({.restart = least}, {}) == 2);
  CHECK(yields<signed_numbers>({}, {.restart = least}) == 2);
}

namespace {

/// Times of std::chrono in coarser units than the host's, of which the longest don't fit into those.
struct calendar {
  struct row {
    std::chrono::sys_days submitted{};
    std::chrono::hours time_limit{};
    std::chrono::sys_days ready = std::chrono::sys_days::min();
  };
  using job = const row*;
  using time_point = std::chrono::sys_time<std::chrono::nanoseconds>;

  allot::quota_id quota(job) const { return allot::quota_id{0}; }
  allot::resources<> request(job) const { return gpus(1); }
  int priority(job) const { return 0; }
  std::chrono::sys_days submitted(job j) const { return j->submitted; }
  std::chrono::hours time_limit(job j) const { return j->time_limit; }
  std::chrono::sys_days ready_at(job j) const { return j->ready; }
};

}  // namespace

TEST_CASE("view_integers: times that are too long for the host's unit are the longest") {
  using std::chrono::hours;
  using std::chrono::sys_days;
  allot::scheduler<calendar> scheduler{
      calendar{}, allot::build_quota_tree<1>({{.name = "team", .nominal = gpus(1)}}).value()};
  const auto now = [](std::int64_t ticks) { return calendar::time_point{std::chrono::nanoseconds{ticks}}; };
  const calendar::row last{.submitted = sys_days::max()};
  const calendar::row first{.submitted = sys_days::min(), .time_limit = hours::max()};
  const calendar::row second{.submitted = sys_days{std::chrono::days{-3}}, .time_limit = hours::min()};
  REQUIRE(scheduler.submit(&last));
  REQUIRE(scheduler.submit(&second));
  const job_id longest = scheduler.submit(&first);
  scheduler.step(now(1));
  CHECK(scheduler.state(longest) == job_state::running);
  scheduler.step(now(allot::without_end - 1));
  CHECK(scheduler.state(longest) == job_state::running);
  scheduler.finished(longest);
  CHECK(scheduler.step(now(allot::without_end - 1)).admissions.front().what == &second);
  const calendar::row never{.ready = sys_days::max()};
  CHECK(scheduler.why(scheduler.submit(&never)).ready_at == allot::without_end);
}
