// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

TEST_CASE("catalog: names are unique, each has a summary and is found by its name") {
  std::set<std::string> names;
  allot::for_each_preset([&](auto p) {
    static_assert(allot::preset<decltype(p)>);
    CHECK(names.insert(std::string{p.name}).second);
    CHECK_FALSE(std::string_view{p.summary}.empty());
    std::string_view found;
    CHECK(allot::with_preset(p.name, [&](auto q) { found = q.name; }));
    CHECK(found == p.name);
  });
  CHECK(names.count("standard") == 1);
}

namespace {

struct plain_view {
  using job = int;
  [[nodiscard]] allot::quota_id quota(job) const { return allot::quota_id{0}; }
  [[nodiscard]] allot::resources<> request(job) const { return allot::gpus(1); }
  [[nodiscard]] std::int64_t priority(job) const { return 0; }
  [[nodiscard]] allot::instant duration(job) const { return 1; }
};
struct estimating_view : plain_view {
  [[nodiscard]] allot::instant estimate(job) const { return 1; }
};

/// Whether a quota that is configured with what the preset calls its defaults has the settings of one that is
/// not. Presets that can't do without estimates are not made without them.
template <class Preset, class View>
void check_defaults(const Preset& preset, const View& view) {
  CAPTURE(preset.name);
  auto made = allot::make_scheduler(
      preset, view, {{.name = "a", .nominal = allot::gpus(8)}, {.name = "b", .nominal = allot::gpus(8)}});
  if (!made) {
    CHECK_FALSE(allot::estimated_view<View>);
    CHECK(preset.defaults().head == allot::queue_head::reserve);
    return;
  }
  auto& s = made.value();
  const allot::quota_id a{0};
  const allot::queue_settings unconfigured = s.settings(a);
  CHECK(s.configure(a, preset.defaults()).empty());
  CHECK(s.settings(a) == unconfigured);
  // Not even after it was configured otherwise.
  CHECK(s.configure(a, {.order = allot::queue_order::fifo, .head = allot::queue_head::strict}).empty());
  CHECK(s.settings(a).head == allot::queue_head::strict);
  CHECK(s.configure(a, preset.defaults()).empty());
  CHECK(s.settings(a) == unconfigured);
  CHECK(s.configure(a, s.settings({})).empty());
  CHECK(s.settings(a) == unconfigured);
}
template <class Preset>
void check_defaults(const Preset& preset) {
  check_defaults(preset, plain_view{});
  check_defaults(preset, estimating_view{});
}

}  // namespace

TEST_CASE("catalog: what a preset calls its defaults is what an unconfigured quota has") {
  allot::for_each_preset([](auto p) { check_defaults(p); });
  check_defaults(allot::standard{.reservations = 0});
  check_defaults(allot::standard{.reservations = 2, .backfill = allot::backfill_order::queue});
  check_defaults(allot::standard{.first_backoff = 5, .longest_backoff = 50});
  check_defaults(allot::standard{.gather = 100});
  check_defaults(allot::standard{.reservations = 1, .gather = 100});
  check_defaults(allot::hyperpod{.tasks = allot::hyperpod_tasks::fcfs});
  check_defaults(allot::easy{.reservations = 0});
}

TEST_CASE("catalog: an unknown name finds no preset") {
  bool called = false;
  CHECK_FALSE(allot::with_preset("Standard", [&](auto) { called = true; }));
  CHECK_FALSE(called);
}
