// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/seeds.hpp"

using allot::any_preset;
using allot::fair_weight;
using allot::gpus;
using allot_test::preset_host;
using allot_test::random_source;

namespace {

/// Random events of one department with three teams, as a log.
template <class Preset>
std::string story(random_source random, const Preset& preset) {
  preset_host<Preset> h{{{.name = "all", .nominal = gpus(8), .inclusive = true},
                         {.name = "a", .parent = "all", .nominal = gpus(4), .weight = fair_weight::whole(1)},
                         {.name = "b", .parent = "all", .nominal = gpus(2), .weight = fair_weight::whole(2)},
                         {.name = "c", .parent = "all", .nominal = gpus(1), .weight = fair_weight::whole(1)}},
                        preset};
  std::string diary;
  std::vector<std::string> submitted;
  for (int i = 0; i < 30; ++i) {
    if (submitted.empty() || !random.one_in(4)) {
      submitted.push_back(std::to_string(i));
      h.submit(submitted.back(), std::vector<std::string>{"a", "b", "c"}[random.below(3)],
               static_cast<int>(random.between(1, 4)),
               {.priority = static_cast<int>(random.below(3)), .length = random.between(1, 9)});
    } else {
      const std::size_t k = random.below(submitted.size());
      h.finish(submitted[k]);
      submitted.erase(submitted.begin() + static_cast<std::ptrdiff_t>(k));
    }
    diary += h.settle() + '\n';
  }
  return diary;
}

}  // namespace

TEST_CASE("any_preset: decides as the preset of that name") {
  allot_test::for_each_seed(30, [](random_source& random) {
    allot::for_each_preset([&](auto p) {
      const auto any = any_preset::find(p.name);
      REQUIRE(any.has_value());
      CHECK(any->name == std::string_view{p.name});
      CHECK(any->summary == std::string_view{p.summary});
      CHECK(any->ignores_quotas == p.ignores_quotas);
      CHECK(any->defaults() == p.defaults());
      CHECK(story(random, *any) == story(random, p));
    });
  });
}

namespace {

template <class Preset>
constexpr bool may_wake = [] {
  using session = allot::session<allot_test::preset_view, allot::no_placement>;
  return allot::waking_cycle<typename Preset::policies_type::template cycle<session>, session>;
}();

}  // namespace

TEST_CASE("any_preset: time alone changes decisions where past usage counts, and nowhere else") {
  allot::for_each_preset([](auto p) {
    using preset_type = decltype(p);
    static_assert(may_wake<preset_type> == std::is_same_v<preset_type, allot::runai>);
  });
  const auto wakes_at = [](const auto& preset) {
    preset_host<any_preset> h{{{.name = "all", .nominal = gpus(8), .inclusive = true},
                               {.name = "a", .parent = "all", .weight = fair_weight::whole(1)},
                               {.name = "b", .parent = "all", .weight = fair_weight::whole(1)}},
                              any_preset{preset}};
    h.submit("a1", "a", 8);
    h.submit("b1", "b", 8);
    const std::string said = h.settle();
    CHECK(said.find("+a1") != std::string::npos);
    return h.scheduler().wakes_at();
  };
  const std::optional<allot::instant> counts = wakes_at(allot::runai{.k = 1000, .period = 50});
  REQUIRE(counts);
  CHECK(*counts >= 50);
  CHECK_FALSE(wakes_at(allot::runai{}));
  CHECK_FALSE(wakes_at(allot::pai{}));
  CHECK_FALSE(wakes_at(allot::hyperpod{}));
  CHECK_FALSE(wakes_at(allot::kueue{}));
  // Fading usage only says whose turn it is.
  any_preset by_fair_tree{allot::pai{}};
  REQUIRE(by_fair_tree.choose({.queue_order = allot::quota_order_name::fair_tree, .half_life = 7}));
  preset_host<any_preset> h{{{.name = "a", .nominal = gpus(8)}, {.name = "b"}}, by_fair_tree};
  h.submit("a1", "a", 8);
  h.submit("a2", "a", 8);
  h.settle();
  CHECK_FALSE(h.scheduler().wakes_at());
}

TEST_CASE("any_preset: entitlements are known where the policies divide the capacity") {
  const auto entitled = [](std::string_view name) {
    preset_host<any_preset> h{{{.name = "all", .nominal = gpus(8)},
                               {.name = "a", .parent = "all", .nominal = gpus(2)},
                               {.name = "b", .parent = "all", .nominal = gpus(6)}},
                              any_preset::find(name).value()};
    h.submit("a1", "a", 6);
    h.submit("b1", "b", 1);
    h.settle();
    return h.scheduler().entitled(h.quota("a"));
  };
  CHECK(entitled("runai") == allot::resources<>{gpus(6)});
  CHECK_FALSE(entitled("standard").has_value());
  CHECK_FALSE(entitled("kueue").has_value());
}

TEST_CASE("any_preset: says whether anything is held for those that others leave for, and explains by that") {
  for (const std::string_view name : {"kueue", "kueue_fair", "runai", "standard", "pai", "hyperpod"}) {
    CAPTURE(name);
    preset_host<any_preset> h{{{.name = "co", .nominal = gpus(4), .inclusive = true},
                               {.name = "a", .parent = "co", .nominal = gpus(4)},
                               {.name = "b", .parent = "co"},
                               {.name = "c", .parent = "co"}},
                              any_preset::find(name).value()};
    auto& s = h.scheduler();
    for (const allot::quota_id x : s.tree().top_down()) {
      allot::queue_settings settings = s.settings(x);
      settings.preempt.reclaim = allot::preempt_reclaim::any;
      REQUIRE(s.configure(x, settings).empty());
    }
    h.submit("loan", "b", 3);
    static_cast<void>(s.step(1));
    h.submit("own", "a", 4);
    h.submit("other", "c", 2);
    static_cast<void>(s.step(2));
    const bool announces = name == "runai" || name.starts_with("kueue");
    CHECK(s.announces() == announces);
    CHECK(&s.counted() == (announces ? &s.ledger() : &s.assumed()));
    const auto why = s.why(h.id("other"));
    CHECK(why.departures.job == h.id("loan"));
    CHECK(why.departures.beneficiary == h.id("own"));
    CHECK(why.departures.is_held == !announces);
  }
}

TEST_CASE("any_preset: an unknown name gives an empty preset") {
  CHECK_FALSE(any_preset::find("slurm").has_value());
}

TEST_CASE("any_preset: standard by name reserves as standard does, but not with parts chosen by name") {
  any_preset by = any_preset::find("standard").value();
  CHECK(by.defaults() == allot::standard{}.defaults());
  by.use_estimates();
  CHECK(by.defaults() == allot::standard{.reservations = 3}.defaults());
  CHECK(by.rules<1>().defaults == by.defaults());
  allot::named_parts parts;
  parts.guard = allot::guard_name::none;
  REQUIRE(by.choose(parts));
  CHECK(by.defaults() == allot::standard{}.defaults());
}
