// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/standard.hpp>
#include <allot/presets/static_quotas.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/words.hpp"

using allot::cycle_abilities;
using allot::queue_settings;

namespace {

/// All members, those of members included. It does not compile once there is another one: add that here, and
/// a row to `rows`.
auto members_of(const queue_settings& s) {
  const auto& [order, head, preempt, flavors, min_runtime, strict_after, preempt_after, reservations, gather,
               wait_if_loss_percent, backfill, owners_backfill, borrow_backoff, ready_horizon] = s;
  const auto& [within, reclaim, reclaim_priorities, children, children_lower_priority, children_priorities,
               borrow, borrow_max_priority, rivals] = preempt;
  const auto& [when_can_borrow, when_can_preempt, preference] = flavors;
  const auto& [from_same_quota, from_others] = min_runtime;
  const auto& [longest_gathering, percent] = gather;
  const auto& [first_backoff, longest_backoff] = borrow_backoff;
  return std::tuple{order,
                    head,
                    within,
                    reclaim,
                    reclaim_priorities,
                    children,
                    children_lower_priority,
                    children_priorities,
                    borrow,
                    rivals,
                    borrow_max_priority,
                    when_can_borrow,
                    when_can_preempt,
                    preference,
                    from_same_quota,
                    from_others,
                    reservations,
                    longest_gathering,
                    percent,
                    wait_if_loss_percent,
                    backfill,
                    strict_after,
                    owners_backfill,
                    first_backoff,
                    longest_backoff,
                    ready_horizon,
                    preempt_after};
}
constexpr std::size_t members = std::tuple_size_v<decltype(members_of({}))>;

/// The members in which the two differ, by number.
std::vector<std::size_t> differences(const queue_settings& a, const queue_settings& b) {
  std::vector<std::size_t> found;
  const auto x = members_of(a);
  const auto y = members_of(b);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((std::get<I>(x) == std::get<I>(y) ? void() : found.push_back(I)), ...);
  }
  (std::make_index_sequence<members>{});
  return found;
}

/// What settings are refused or accepted by: the scheduler that they are for, and other settings.
struct circumstances {
  queue_settings settings{};
  cycle_abilities can{};
  std::optional<bool> judges_rivals = false;

  [[nodiscard]] allot::vector<allot::problem> problems() const {
    allot::vector<allot::problem> found = allot::contradictions("q", settings, judges_rivals);
    if (found.empty()) found = allot::unsupported("q", settings, can);
    return found;
  }
};

using change = void (*)(circumstances&);

struct row {
  /// The member, as problems name it.
  std::string_view field;
  /// Sets the member to another value than its default.
  change set;
  /// What the reason says must be set, or the view must have; empty if the member needs nothing.
  std::string_view remedy = {};
  /// Provides what the member needs.
  change provide = [](circumstances&) {};
};

void reserve(circumstances& c) {
  c.settings.head = allot::queue_head::reserve;
  c.can.reserves = c.can.knows_ends = true;
}

const row rows[] = {
    {"order", [](circumstances& c) { c.settings.order = allot::queue_order::fifo; }},
    {"head", [](circumstances& c) { c.settings.head = allot::queue_head::strict; }},
    {"head", [](circumstances& c) { c.settings.head = allot::queue_head::reserve; }, "cycle", reserve},
    {"head",
     [](circumstances& c) {
       c.settings.head = allot::queue_head::reserve;
       c.can.reserves = true;
     },
     "estimate(job)", reserve},
    {"preempt.within", [](circumstances& c) { c.settings.preempt.within = allot::preempt_within::never; }},
    {"preempt.reclaim", [](circumstances& c) { c.settings.preempt.reclaim = allot::preempt_reclaim::never; }},
    {"preempt.reclaim_priorities",
     [](circumstances& c) {
       c.settings.preempt.reclaim = allot::preempt_reclaim::never;
       c.settings.preempt.reclaim_priorities.preempted.most = 4;
     },
     "set preempt.reclaim",
     [](circumstances& c) { c.settings.preempt.reclaim = allot::preempt_reclaim::any; }},
    {"preempt.reclaim_priorities",
     [](circumstances& c) {
       c.settings.preempt.reclaim_priorities.preempted = {5, 4};
     },
     "no priority",
     [](circumstances& c) {
       c.settings.preempt.reclaim_priorities.preempted = {4, 4};
     }},
    {"preempt.children", [](circumstances& c) { c.settings.preempt.children = true; }},
    {"preempt.children_lower_priority",
     [](circumstances& c) { c.settings.preempt.children_lower_priority = true; }},
    {"preempt.children_priorities",
     [](circumstances& c) { c.settings.preempt.children_priorities.preempting.least = 7; },
     "set preempt.children", [](circumstances& c) { c.settings.preempt.children = true; }},
    {"preempt.borrow",
     [](circumstances& c) { c.settings.preempt.borrow = allot::preempt_borrow::lower_priority; }},
    {"preempt.borrow_max_priority", [](circumstances& c) { c.settings.preempt.borrow_max_priority = 3; },
     "set preempt.borrow",
     [](circumstances& c) { c.settings.preempt.borrow = allot::preempt_borrow::lower_priority; }},
    {"preempt.rivals", [](circumstances& c) { c.settings.preempt.rivals = allot::preempt_rivals::never; }},
    {"preempt.rivals", [](circumstances& c) { c.settings.preempt.rivals = allot::preempt_rivals::any; },
     "guard", [](circumstances& c) { c.judges_rivals = true; }},
    {"flavors", [](circumstances& c) { c.settings.flavors.when_can_borrow = allot::flavor_step::try_next; },
     "flavors(job, pods)", [](circumstances& c) { c.can.knows_flavors = true; }},
    {"flavors", [](circumstances& c) { c.settings.flavors.when_can_preempt = allot::flavor_step::stay; },
     "flavors(job, pods)", [](circumstances& c) { c.can.knows_flavors = true; }},
    {"flavors",
     [](circumstances& c) {
       c.settings.flavors.preference = allot::flavor_preference::preemption_over_borrowing;
     },
     "flavors(job, pods)", [](circumstances& c) { c.can.knows_flavors = true; }},
    {"min_runtime.preempt", [](circumstances& c) { c.settings.min_runtime.preempt = 5; }},
    {"min_runtime.reclaim", [](circumstances& c) { c.settings.min_runtime.reclaim = 5; }},
    {"reservations", [](circumstances& c) { c.settings.reservations = 2; }, "set head to reserve", reserve},
    {"reservations", [](circumstances& c) { c.settings.reservations = 0; }, "set head to reserve",
     [](circumstances& c) {
       reserve(c);
       c.settings.reservations = 1;
     }},
    {"reservations",
     [](circumstances& c) {
       reserve(c);
       c.settings.reservations = 0;
     },
     "to 1 or more", [](circumstances& c) { c.settings.reservations = 1; }},
    {"gather", [](circumstances& c) { c.settings.gather.longest = 60; }, "set head to reserve", reserve},
    {"gather.percent", [](circumstances& c) { c.settings.gather.percent = 30; }, "set gather.longest",
     [](circumstances& c) {
       reserve(c);
       c.settings.gather.longest = 60;
     }},
    {"wait_if_loss_percent", [](circumstances& c) { c.settings.wait_if_loss_percent = 100; },
     "set head to reserve", reserve},
    {"wait_if_loss_percent",
     [](circumstances& c) {
       reserve(c);
       c.settings.preempt = {.within = allot::preempt_within::never,
                             .reclaim = allot::preempt_reclaim::never};
       c.settings.wait_if_loss_percent = 100;
     },
     "set preempt",
     [](circumstances& c) { c.settings.preempt.within = allot::preempt_within::lower_priority; }},
    {"backfill", [](circumstances& c) { c.settings.backfill = allot::backfill_order::aged; },
     "set head to reserve", reserve},
    {"backfill", [](circumstances& c) { c.settings.backfill = allot::backfill_order::shortest_estimate; },
     "set head to reserve", reserve},
    {"strict_after", [](circumstances& c) { c.settings.strict_after = -1; }, "negative",
     [](circumstances& c) { c.settings.strict_after = 0; }},
    {"strict_after", [](circumstances& c) { c.settings.strict_after = 60; }, "submitted(job)",
     [](circumstances& c) { c.can.knows_submissions = true; }},
    {"strict_after",
     [](circumstances& c) {
       c.can.knows_submissions = true;
       c.settings.head = allot::queue_head::strict;
       c.settings.strict_after = 1;
     },
     "strict queue", [](circumstances& c) { c.settings.head = allot::queue_head::best_effort; }},
    {"owners_backfill", [](circumstances& c) { c.settings.owners_backfill = true; }, "set head to reserve",
     reserve},
    {"owners_backfill",
     [](circumstances& c) {
       reserve(c);
       c.settings.preempt.reclaim = allot::preempt_reclaim::lower_priority;
       c.settings.owners_backfill = true;
     },
     "set preempt.reclaim to any",
     [](circumstances& c) { c.settings.preempt.reclaim = allot::preempt_reclaim::any; }},
    {"borrow_backoff",
     [](circumstances& c) {
       c.settings.borrow_backoff = {5, 20};
     },
     "cycle", [](circumstances& c) { c.can.backs_off = true; }},
    {"borrow_backoff", [](circumstances& c) { c.settings.borrow_backoff.first = 5; }, "the longest",
     [](circumstances& c) {
       c.settings.borrow_backoff.longest = 5;
       c.can.backs_off = true;
     }},
    {"borrow_backoff", [](circumstances& c) { c.settings.borrow_backoff.longest = 20; },
     "set borrow_backoff.first",
     [](circumstances& c) {
       c.settings.borrow_backoff.first = 5;
       c.can.backs_off = true;
     }},
    {"preempt_after", [](circumstances& c) { c.settings.preempt_after = -1; }, "negative",
     [](circumstances& c) { c.settings.preempt_after = 0; }},
    {"preempt_after",
     [](circumstances& c) {
       c.can.delays_preemption = c.can.knows_submissions = true;
       c.settings.preempt = {.within = allot::preempt_within::never,
                             .reclaim = allot::preempt_reclaim::never};
       c.settings.preempt_after = 60;
     },
     "set preempt",
     [](circumstances& c) { c.settings.preempt.within = allot::preempt_within::lower_priority; }},
    {"preempt_after", [](circumstances& c) { c.settings.preempt_after = 60; }, "cycle",
     [](circumstances& c) { c.can.delays_preemption = c.can.knows_submissions = true; }},
    {"preempt_after",
     [](circumstances& c) {
       c.settings.preempt_after = 60;
       c.can.delays_preemption = true;
     },
     "submitted(job)", [](circumstances& c) { c.can.knows_submissions = true; }},
    {"ready_horizon", [](circumstances& c) { c.settings.ready_horizon = 60; }, "ready_at(job)",
     [](circumstances& c) { c.can.reserves = c.can.knows_ready_times = true; }},
    {"ready_horizon",
     [](circumstances& c) {
       c.settings.ready_horizon = 60;
       c.can.knows_ready_times = true;
     },
     "cycle", [](circumstances& c) { c.can.reserves = true; }},
};

struct plain_view {
  using job = int;
  [[nodiscard]] static allot::quota_id quota(job) { return allot::quota_id{0}; }
  [[nodiscard]] static allot::resources<> request(job) { return allot::gpus(1); }
  [[nodiscard]] static std::int64_t priority(job) { return 0; }
};
struct estimating_view : plain_view {
  [[nodiscard]] static allot::instant estimate(job) { return 5; }
};
struct saving_view : estimating_view {
  [[nodiscard]] static allot::instant checkpoint(job) { return 1; }
  [[nodiscard]] static allot::instant restart(job) { return 1; }
};
struct putting_off_view : plain_view {
  [[nodiscard]] static allot::instant ready_at(job) { return 7; }
};
struct choosing_view : plain_view {
  [[nodiscard]] static allot::flavor_menu<1> flavors(job, std::uint32_t) { return {}; }
};

/// The field of the only problem with these settings of a quota, or why there is not only one.
template <class View>
std::string refused(const queue_settings& settings, const View& view) {
  auto s = allot::make_scheduler(allot::standard{}, view, {{.name = "q"}}).value();
  const auto problems = s.configure(allot::quota_id{0}, settings);
  return problems.size() == 1 ? problems.front().field : std::to_string(problems.size()) + " problems";
}

}  // namespace

TEST_CASE("queue_settings: by default priorities rank, and small jobs may pass") {
  constexpr queue_settings s;
  CHECK(s.order == allot::queue_order::priority);
  CHECK(s.head == allot::queue_head::best_effort);
  CHECK(s.preempt == allot::preempt_settings{});
  CHECK(s == queue_settings{});
  CHECK_FALSE(s == queue_settings{.order = allot::queue_order::fifo});
  CHECK_FALSE(s == queue_settings{.preempt = {.children = true}});
}

TEST_CASE("settings: in the order of age short jobs pass long ones, and large ones small ones") {
  using allot::aged_delay;
  CHECK(aged_delay(100, 0) == 1000);
  // A quarter of all.
  CHECK(aged_delay(100, 256) == 333);
  CHECK(aged_delay(100, 1024) == 111);
  CHECK(aged_delay(100, 5000) == aged_delay(100, 1024));
  CHECK(aged_delay(100, -1) == 1000);
  CHECK(aged_delay(0, 0) == 0);
  CHECK(aged_delay(allot::without_end, 0) == 0);
  CHECK(aged_delay(allot::without_end - 1, 0) == allot::without_end);
}

TEST_CASE("settings: what a setting needs and does not have is said, for every member") {
  CHECK(circumstances{}.problems().empty());
  std::array<bool, members> has_row{};
  for (const row& r : rows) {
    CAPTURE(r.field);
    circumstances c;
    r.set(c);
    const auto changed = differences(c.settings, {});
    if (changed.size() == 1) has_row[changed.front()] = true;
    const auto problems = c.problems();
    if (r.remedy.empty()) {
      CHECK(problems.empty());
      continue;
    }
    CHECK(problems.size() == 1);
    if (problems.size() != 1) continue;
    CAPTURE(problems.front().text);
    CHECK(problems.front().field == r.field);
    CHECK(problems.front().text.find(r.remedy) != std::string::npos);
    r.provide(c);
    CHECK(c.problems().empty());
  }
  for (std::size_t i = 0; i < members; ++i) {
    CAPTURE(i);
    CHECK(has_row[i]);
  }
}

TEST_CASE("settings: a scheduler knows what its view shows") {
  const queue_settings reserving{.head = allot::queue_head::reserve};
  CHECK(refused(reserving, plain_view{}) == "head");
  CHECK(refused(reserving, estimating_view{}) == "0 problems");
  const queue_settings choosing{.flavors = {.when_can_borrow = allot::flavor_step::try_next}};
  CHECK(refused(choosing, saving_view{}) == "flavors");
  CHECK(refused(choosing, choosing_view{}) == "0 problems");
  constexpr queue_settings looking_ahead{.ready_horizon = 60};
  CHECK(refused(looking_ahead, choosing_view{}) == "ready_horizon");
  CHECK(refused(looking_ahead, putting_off_view{}) == "0 problems");
}

TEST_CASE("settings: what presets make of their options is not refused") {
  const auto check = [](const auto& preset) {
    CAPTURE(preset.name);
    const circumstances c{.settings = preset.defaults(),
                          .can = {.reserves = true,
                                  .knows_ends = true,
                                  .backs_off = true,
                                  .knows_submissions = true,
                                  .knows_flavors = true}};
    for (const auto& p : c.problems()) FAIL_CHECK(p.text);
  };
  check(allot::fifo{});
  check(allot::sjf{});
  check(allot::conservative{});
  check(allot::pai{});
  check(allot::static_quotas{});
  check(allot::runai{});
  check(allot::kueue{});
  check(allot::kueue_fair{});
  for (const auto tasks : {allot::hyperpod_tasks::fcfs, allot::hyperpod_tasks::ranking}) {
    check(allot::hyperpod{.tasks = tasks});
  }
  for (const auto backfill : {allot::backfill_order::queue, allot::backfill_order::shortest_estimate,
                              allot::backfill_order::aged}) {
    for (const std::uint32_t reservations : {std::uint32_t{0}, std::uint32_t{1}, allot::reserve_all}) {
      check(allot::easy{reservations, backfill});
      for (int bits = 0; bits < 16; ++bits) {
        check(allot::standard{.reservations = reservations,
                              .backfill = backfill,
                              .first_backoff = (bits & 1) != 0 ? 600 : 0,
                              .longest_backoff = (bits & 2) != 0 ? 7200 : 0,
                              .gather = (bits & 4) != 0 ? 60 : 0,
                              .strict_after = (bits & 8) != 0 ? 3600 : 0});
      }
    }
  }
  check(allot::standard{});
  check(allot::standard{.gather = 60});
}

TEST_CASE("settings: a preset of one's own with settings that lack what they need is refused") {
  struct mistaken : allot::standard {
    [[nodiscard]] static queue_settings defaults() { return {.backfill = allot::backfill_order::aged}; }
  };
  const auto made = allot::make_scheduler(mistaken{}, plain_view{}, {{.name = "q"}});
  REQUIRE(made.problems().size() == 1);
  CHECK(made.problems().front().field == "backfill");
}

TEST_CASE(
    "settings: a head by preset is that of a quota that is not configured, with all that goes with it") {
  const queue_settings reserves{.head = allot::queue_head::reserve,
                                .reservations = 3,
                                .gather = {.longest = 5, .percent = 10},
                                .wait_if_loss_percent = 100,
                                .backfill = allot::backfill_order::aged,
                                .owners_backfill = true};
  CHECK(allot::with_head({.head = allot::queue_head::by_preset}, reserves) == reserves);
  CHECK(allot::with_head({.head = allot::queue_head::by_preset}, {}) == queue_settings{});
  // And nothing else is.
  queue_settings own{.order = allot::queue_order::fifo,
                     .head = allot::queue_head::by_preset,
                     .preempt = {.children = true},
                     .flavors = {.when_can_borrow = allot::flavor_step::try_next},
                     .min_runtime = {.preempt = 7},
                     .borrow_backoff = {1, 2}};
  const queue_settings with = allot::with_head(own, reserves);
  CHECK(allot::with_head(with, {}) == with);
  own.head = allot::queue_head::best_effort;
  CHECK(allot::with_head(own, reserves) == own);
  CHECK(allot::with_head({.head = allot::queue_head::by_preset}, own) == queue_settings{});
  queue_settings rest = with;
  rest.head = allot::queue_head::by_preset;
  CHECK(allot::with_head(rest, {}) == own);
}

TEST_CASE("settings: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::queue_order>(2));
  CHECK(allot_test::has_words<allot::queue_head>(4));
  CHECK(allot_test::has_words<allot::backfill_order>(3));
  CHECK(allot_test::has_words<allot::flavor_step>(2));
}
