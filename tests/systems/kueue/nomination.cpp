// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/unit_host.hpp"

namespace {

using allot_test::models;
using allot_test::unit_job;
using allot_test::unit_view;

/// A host under the parts of Kueue; a model is a flavor, and with a placement a pool of nodes.
template <class Placement>
class host {
 public:
  explicit host(std::vector<allot::quota_spec<2>> specs, Placement places = {},
                allot::queue_head head = allot::kueue::defaults().head, allot::kueue options = {})
      : scheduler_(unit_view{}, tree_of(std::move(specs)), std::move(places), options.policies()) {
    for (const allot::quota_id x : scheduler_.tree().top_down()) {
      allot::queue_settings s = allot::kueue::defaults();
      s.preempt.within = allot::preempt_within::lower_priority;
      s.head = head;
      REQUIRE(scheduler_.configure(x, s).empty());
    }
  }

  /// All pods are needed unless a minimum is given; without a menu they are of the first model.
  void submit(const std::string& name, const std::string& in, std::int64_t gpus, std::uint32_t pods = 1,
              std::uint32_t min_pods = 0, std::int64_t priority = 0, allot::flavor_menu<2> menu = {}) {
    unit_job j;
    j.name = name;
    j.quota = scheduler_.tree().find(in);
    if (menu.empty()) j.each = models(gpus);
    j.pods = pods;
    j.min_pods = min_pods == 0 ? pods : min_pods;
    j.menu = std::move(menu);
    j.priority = priority;
    j.number = jobs_.size();
    jobs_.push_back(j);
    ids_[name] = scheduler_.submit(&jobs_.back());
  }
  void retry() { scheduler_.retry(); }
  void gone(const std::string& name) { scheduler_.evicted(ids_.at(name)); }
  void cancel(const std::string& name) { scheduler_.cancel(ids_.at(name)); }
  void finished(const std::string& name) { scheduler_.finished(ids_.at(name)); }

  /// "-v>a" v is evicted for a, "+a*3/1" a starts with three pods and the second flavor.
  std::string step() {
    const auto& plan = scheduler_.step(++now_);
    std::string said;
    const auto say = [&](const std::string& word) { said += (said.empty() ? "" : " ") + word; };
    for (const auto& e : plan.evictions) {
      std::string word = "-";
      say(word + e.what->name + ">" + scheduler_.what(e.beneficiary)->name);
    }
    for (const auto& a : plan.admissions) {
      std::string word = "+";
      word += a.what->name;
      if (a.pods != 1) word += "*" + std::to_string(a.pods);
      if (!a.what->menu.empty()) word += "/" + std::to_string(a.pick[0]);
      say(word);
    }
    return said;
  }
  std::int64_t used(const std::string& in, std::size_t d = 0) const {
    return scheduler_.ledger().own_usage(scheduler_.tree().find(in), d).in_milli() / 1000;
  }

 private:
  static allot::quota_tree<2> tree_of(std::vector<allot::quota_spec<2>> specs) {
    allot::kueue::adapt(specs);
    return allot::build_quota_tree<2>(std::move(specs)).value();
  }

  std::deque<unit_job> jobs_;
  std::map<std::string, allot::job_id> ids_;
  allot::scheduler<unit_view, Placement, allot::kueue::policies_type> scheduler_;
  allot::instant now_ = 0;
};
using books = host<allot::no_placement>;
using cluster = host<allot::gpu::inventory>;

allot::flavor_menu<2> either(std::int64_t gpus) {
  return allot_test::h100_then_a100(gpus);
}

}  // namespace

TEST_CASE("nomination: an elastic job gets as many pods as it can have, as Kueue's partial admission") {
  books h{{{.name = "sales", .nominal = models(50)}}};
  h.submit("new", "sales", 2, 50, 20);
  CHECK(h.step() == "+new*25");
  CHECK(h.used("sales") == 50);
  // A workload of Kueue does not grow while it runs.
  CHECK(h.step() == "");
  h.finished("new");
  h.submit("none", "sales", 2, 50, 26);
  CHECK(h.step() == "");
}

TEST_CASE("nomination: fewer pods instead of victims only where they fit") {
  // Kueue's preemption together with partial admission: at least the minimum, with or without victims.
  for (const std::uint32_t pods : {20U, 30U}) {
    CAPTURE(pods);
    books h{{{.name = "eng", .nominal = models(20)}}};
    h.submit("old", "eng", 10, 1, 0, -4);
    CHECK(h.step() == "+old");
    h.submit("new", "eng", 1, pods, 10, 4);
    // All pods, by preemption if necessary, before fewer pods without preemption.
    CHECK(h.step() == "-old>new");
    h.gone("old");
    CHECK(h.step() == "+new*20");
  }
}

TEST_CASE("nomination: an elastic job with flavors") {
  books h{{{.name = "q", .nominal = models(4, 6)}}};
  h.submit("a", "q", 1, 8, 2, 0, either(1));
  // Eight fit nowhere; six fit the second flavor.
  CHECK(h.step() == "+a*6/1");
  h.submit("b", "q", 1, 8, 2, 0, either(1));
  CHECK(h.step() == "+b*4/0");
}

TEST_CASE("nomination: a flavor without a place is passed over for the next") {
  cluster h{{{.name = "q", .nominal = models(16, 16)}}, allot_test::two_models(1, 1, 8)};
  h.submit("a", "q", 8);
  CHECK(h.step() == "+a");
  // Quota for eight more of the first model, but no node.
  h.submit("b", "q", 8, 1, 0, 0, either(8));
  CHECK(h.step() == "+b/1");
  h.submit("c", "q", 8, 1, 0, 0, either(8));
  CHECK(h.step() == "");
  h.finished("b");
  CHECK(h.step() == "+c/1");
}

TEST_CASE("nomination: victims until there is a place, and no more") {
  cluster h{{{.name = "q", .nominal = models(64)}}, allot_test::two_models(2, 0, 8)};
  // Two nodes of eight, full of jobs of four.
  for (const char* name : {"a1", "a2", "b1", "b2"}) {
    h.submit(name, "q", 4);
    CHECK(h.step() != "");
  }
  h.submit("big", "q", 8, 1, 0, 1);
  const std::string said = h.step();
  CHECK(said.size() == std::string{"-xx>big -yy>big"}.size());
  CHECK(h.step() == "");
  const std::string first = said.substr(1, 2), second = said.substr(9, 2);
  h.gone(first);
  CHECK(h.step() == "");  // The other still runs there; the evicted one is not placed again in between.
  h.gone(second);
  CHECK(h.step() == "+big");
  CHECK(h.step() == "");
}

TEST_CASE("nomination: two heads for one place") {
  cluster h{{{.name = "pool", .nominal = models(32)},
             {.name = "a", .parent = "pool"},
             {.name = "b", .parent = "pool"}},
            allot_test::two_models(1, 0, 8)};
  h.submit("of_a", "a", 8, 1, 0, 0);
  h.submit("of_b", "b", 8, 1, 0, 1);
  CHECK(h.step() == "+of_b");
  CHECK(h.step() == "");
  h.finished("of_b");
  CHECK(h.step() == "+of_a");
}

TEST_CASE("nomination: two heads of different trees for one place") {
  for (const allot::queue_head head : {allot::queue_head::strict, allot::queue_head::best_effort}) {
    cluster h{{{.name = "a", .nominal = models(8)}, {.name = "b", .nominal = models(8)}},
              allot_test::two_models(1, 0, 8),
              head};
    h.submit("of_a", "a", 8);
    h.submit("of_b", "b", 8, 1, 0, 1);
    CHECK(h.step() == "+of_b");
    CHECK(h.step() == "");
    h.finished("of_b");
    CHECK(h.step() == "+of_a");
  }
}

TEST_CASE("nomination: a head waits for a victim of another tree") {
  for (const allot::queue_head head : {allot::queue_head::strict, allot::queue_head::best_effort}) {
    cluster h{{{.name = "a", .nominal = models(16)}, {.name = "b", .nominal = models(8)}},
              allot_test::two_models(1, 0, 8),
              head};
    h.submit("low", "a", 8);
    CHECK(h.step() == "+low");
    h.submit("high", "a", 8, 1, 0, 1);
    CHECK(h.step() == "-low>high");
    h.cancel("high");
    h.submit("of_b", "b", 8, 1, 0, 2);
    CHECK(h.step() == "");
    h.gone("low");
    CHECK(h.step() == "+of_b");
  }
}

TEST_CASE("nomination: what is kept for a head of another tree") {
  for (const allot::queue_head head : {allot::queue_head::strict, allot::queue_head::best_effort}) {
    cluster h{{{.name = "a", .nominal = models(16)}, {.name = "b", .nominal = models(8)}},
              allot_test::two_models(1, 0, 8),
              head};
    h.submit("low", "a", 4);
    CHECK(h.step() == "+low");
    h.submit("high", "a", 8, 1, 0, 2);
    CHECK(h.step() == "-low>high");
    // Passed over in favour of a job that waits for its victim, in a cycle that decides nothing.
    h.submit("of_b", "b", 4);
    CHECK(h.step() == "");
    h.cancel("high");
    CHECK(h.step() == "+of_b");
  }
}

TEST_CASE(
    "nomination: room that is free now is for a head that starts, room that becomes free for one that "
    "waits") {
  cluster h{{{.name = "a", .nominal = models(8)}, {.name = "b", .nominal = models(8)}},
            allot_test::two_models(2, 0, 8)};
  h.submit("low", "a", 6);
  CHECK(h.step() == "+low");
  h.submit("other", "b", 4);
  CHECK(h.step() == "+other");
  // Left are two beside `low` and four beside `other`, where `high` would fit as well.
  h.submit("high", "a", 4, 1, 0, 1);
  h.submit("now", "b", 4);
  CHECK(h.step() == "-low>high +now");
  h.gone("low");
  CHECK(h.step() == "+high");
}

TEST_CASE("nomination: who is in the way of a place need not use what the quota lacks") {
  cluster h{{{.name = "q", .nominal = models(8, 4)}}, allot_test::two_models(1, 1, 4)};
  h.submit("x", "q", 4);
  CHECK(h.step() == "+x");
  allot::flavor_menu<2> second;
  second.add_group(std::vector<allot::resources<2>>{models(0, 4)});
  h.submit("y", "q", 0, 1, 0, 0, second);
  CHECK(h.step() == "+y/0");
  // The quota lacks the second model, of which only y has some; its place is where x is.
  allot::flavor_menu<2> both;
  both.add_group(std::vector<allot::resources<2>>{models(4, 0)});
  both.add_group(std::vector<allot::resources<2>>{models(0, 4)});
  h.submit("high", "q", 0, 1, 0, 1, both);
  CHECK(h.step() == "-y>high -x>high");
}

TEST_CASE("nomination: a flavor without a place, where the search does not go on in the same cycle") {
  for (const bool preserves : {true, false}) {
    cluster h{{{.name = "q", .nominal = models(16, 16)}},
              allot_test::two_models(1, 1, 8),
              allot::kueue::defaults().head,
              {.preserve_scan_progress = preserves}};
    h.submit("low", "q", 8);
    CHECK(h.step() == "+low");
    // In Kueue 0.17 the flavor is chosen by quota alone, so that it preempts in it rather than try the next.
    h.submit("high", "q", 8, 1, 0, 1, either(8));
    CHECK(h.step() == (preserves ? "+high/1" : "-low>high"));
  }
}

TEST_CASE("nomination: of two groups of flavors, the choice that has a place") {
  // The quota allows every choice. Four of each model have a place, eight of one have none.
  cluster h{{{.name = "q", .nominal = models(16, 16)}}, allot_test::two_models(1, 0, 4)};
  allot::flavor_menu<2> menu = either(4);
  menu.add_group(std::vector<allot::resources<2>>{models(4, 0), models(0, 4)});
  h.submit("both", "q", 0, 1, 0, 0, menu);
  CHECK(h.step() == "+both/0");
  CHECK(h.used("q", 0) == 4);
  CHECK(h.used("q", 1) == 4);
}

TEST_CASE("nominations: an elastic head whose victims are still leaving is decided on once") {
  const auto run = [](allot::flavor_menu<2> menu) {
    host<allot::no_placement> h{{{.name = "q", .nominal = models(3)}}};
    h.submit("low", "q", 3);
    CHECK(h.step() == "+low");
    h.submit("high", "q", 1, 3, 2, 1, std::move(menu));
    CHECK(h.step() == "-low>high");
    for (int i = 0; i < 3; ++i) {
      CHECK(h.step().empty());
      h.retry();
      CHECK(h.step().empty());
    }
    h.gone("low");
    CHECK(h.step().rfind("+high*3", 0) == 0);
  };
  run({});
  allot::flavor_menu<2> menu;
  menu.add_group(std::vector<allot::resources<2>>{models(0, 1), models(1, 0)});
  run(menu);
}
