// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/backfill/horizons.hpp>

#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"
#include "tests/support/timed_nodes.hpp"

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot_test::random_source;
using allot_test::timed_job;

namespace {

/// Where a profile must be walked to be asked: what would fit is counted, but no counter can be kept.
struct without_kept : allot::gpu::inventory {
  struct room_counter : allot::gpu::room_counter {
    [[nodiscard]] bool keep(const allot::gpu::inventory&, const allot::gpu::pod_request&) const {
      return false;
    }
  };
  using allot::gpu::inventory::inventory;
};
/// Where places are not even counted on behalf of reservations on what a quota owns, but tried.
struct without_bounds : allot::gpu::inventory {
  class room_counter : allot::gpu::room_counter {
   public:
    using allot::gpu::room_counter::back;
    using allot::gpu::room_counter::begin;
    using allot::gpu::room_counter::fits;
    using allot::gpu::room_counter::gone;
    using allot::gpu::room_counter::helps;
  };
  using allot::gpu::inventory::inventory;
};
static_assert(!allot::kept_placement_room<allot::room_counter_of<without_bounds>, without_bounds>);
static_assert(std::is_same_v<allot::room_counter_of<allot::gpu::inventory>, allot::gpu::room_counter>);
static_assert(allot::grouped_placement_room<allot::room_counter_of<without_kept>, without_kept>);

struct world {
  std::vector<timed_job> jobs;
  std::vector<allot::quota_spec<1>> quotas;
  allot::queue_settings settings = allot::standard{}.defaults();
};

[[nodiscard]] world random_world(random_source& random, std::int64_t gpus_in_all) {
  world w;
  const std::int64_t each = std::max<std::int64_t>(1, gpus_in_all / 4);
  w.quotas = {{.name = "all"},
              {.name = "a", .parent = "all", .nominal = gpus(each)},
              {.name = "b", .parent = "all", .nominal = gpus(2 * each)},
              {.name = "c", .parent = "all", .nominal = gpus(each)}};
  const bool is_exact = random.one_in(2);
  const bool some_say_nothing = random.one_in(3);
  const bool has_priorities = random.one_in(3);
  const std::int64_t pause = random.between(1, 12);
  instant at = 0;
  for (std::size_t i = 10 + random.below(60); i > 0; --i) {
    timed_job& j = w.jobs.emplace_back();
    at += random.between(0, pause);
    j.quota = quota_id{1 + random.below(3)};
    j.submit = at;
    j.gpus = random.one_in(3) ? random.between(1, gpus_in_all) : random.between(1, 1 + gpus_in_all / 4);
    j.duration = random.between(1, 60);
    j.estimate = is_exact ? j.duration : random.between(1, 2 * j.duration);
    if (some_say_nothing && random.one_in(6)) j.estimate = 0;
    if (has_priorities) j.priority = static_cast<std::int64_t>(random.below(3));
    j.preemptible = !random.one_in(8);
  }
  w.settings.head = allot::queue_head::reserve;
  w.settings.reservations = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.one_in(3)) w.settings.backfill = allot::backfill_order::aged;
  if (random.one_in(3)) w.settings.borrow_backoff = {10, 40};
  if (random.one_in(4)) w.settings.gather = {20, 60};
  return w;
}

/// All reservations at each instant, and all starts.
template <class View, class Placement>
[[nodiscard]] std::string story_of(const world& w, const View& view, Placement places) {
  auto made = allot::make_scheduler(allot::standard{}, view, w.quotas, std::move(places));
  auto& s = made.value();
  for (const quota_id x : {quota_id{1}, quota_id{2}, quota_id{3}})
    REQUIRE(s.configure(x, w.settings).empty());
  allot_test::timed_host<std::remove_cvref_t<decltype(s)>> h{w.jobs, std::move(s)};
  std::string story;
  const auto add = [&](instant value) { story += std::to_string(value) + ' '; };
  h.run_all([&](instant now) {
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
      const auto p = h[j].id ? h.scheduler().reservation_of(h[j].id) : std::nullopt;
      if (!p && !h[j].start) continue;
      for (const instant value : {now, static_cast<instant>(j), static_cast<instant>(h[j].starts)})
        add(value);
      if (p) {
        for (const instant value : {p->start, p->first_start, static_cast<instant>(p->after.index()),
                                    static_cast<instant>(p->borrows), static_cast<instant>(p->cause)})
          add(value);
      }
      story += '\n';
    }
  });
  return story;
}

/// Compares line by line, for a short message.
void check_same(const std::string& kept, const std::string& walked) {
  std::istringstream x{kept};
  std::istringstream y{walked};
  for (std::string a, b; true;) {
    const bool more = static_cast<bool>(std::getline(x, a));
    REQUIRE(static_cast<bool>(std::getline(y, b)) == more);
    if (!more) return;
    REQUIRE(a == b);
  }
}

}  // namespace

TEST_CASE("horizons: what is decided is the same as by walking, and by trying, on nodes") {
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t per_node = random.between(1, 8);
    const std::int64_t count = random.between(2, 10);
    const world w = random_world(random, count * per_node);
    const allot_test::timed_nodes_view view{{&w.jobs}};
    const auto layout = allot_test::timed_nodes(count, per_node).layout();
    const std::string story = story_of(w, view, allot::gpu::inventory{layout});
    check_same(story, story_of(w, view, without_kept{layout}));
    check_same(story, story_of(w, view, without_bounds{layout}));
  });
}

TEST_CASE("horizons: what is decided is the same as by walking, without nodes") {
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t in_all = 4 * random.between(1, 8);
    const world w = random_world(random, in_all);
    const allot_test::timed_view view{&w.jobs};
    check_same(story_of(w, view, allot::no_placement{}), story_of(w, view, allot_test::gpu_pool{in_all}));
  });
}
