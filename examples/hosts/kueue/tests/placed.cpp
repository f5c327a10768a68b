// SPDX-License-Identifier: BSL-1.0
// Workloads whose pods are placed on nodes, of a Kueue that is made up.
#include "governed_world.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace kueue_tests;

namespace {

using places_of = std::map<std::string, std::vector<std::string>>;
using pod_set = made_up_kueue::pod_set;

[[nodiscard]] json::object required(const char* level) {
  return {{"required", level}};
}
[[nodiscard]] std::set<std::string> racks(const std::vector<std::string>& on) {
  std::set<std::string> all;
  for (const std::string& node : on) all.insert(made_up_kueue::rack_of(node));
  return all;
}

/// What its Workloads hold of a node; victims that are on their way out apart.
[[nodiscard]] std::int64_t assigned_on(const world& w, const std::string& node) {
  std::int64_t sum = 0;
  for (const auto& [name, t] : w.kueue.jobs) {
    if (!w.kueue.holds(name) || w.kueue.is(name, "Evicted")) continue;
    for (const auto& [set, on] : w.kueue.places(name)) {
      sum += made_up_kueue::gpus_of_pod(t, set) * std::count(on.begin(), on.end(), node);
    }
  }
  return sum;
}

/// Each pod has one node, none has more than it has, and what was asked for holds.
void check_places(const world& w) {
  for (const auto& job : w.kueue.jobs) {
    const std::string& name = job.first;
    const made_up_kueue::truth& t = job.second;
    if (!w.kueue.holds(name)) continue;
    CAPTURE(name);
    CAPTURE(json::serialize(w.kueue.object(name)));
    const places_of places = w.kueue.places(name);
    if (t.queue == "c") {
      CHECK(places.empty());
      continue;
    }
    CHECK(places.size() == t.pod_sets.size());
    std::set<std::string> of_all;
    for (const json::value& s : t.pod_sets) {
      const auto at = places.find(json::value_to<std::string>(s.at("name")));
      REQUIRE(at != places.end());
      const std::vector<std::string>& on = at->second;
      CHECK(on.size() == s.at("count").to_number<std::size_t>());
      const json::value* const asked = s.as_object().if_contains("topologyRequest");
      if (asked == nullptr) continue;
      const auto text = [&](const char* key) { return std::string{text_at(asked->as_object(), {key})}; };
      if (text("required") == "rack") CHECK(racks(on).size() == 1);
      if (text("required") == "kubernetes.io/hostname") CHECK(std::set(on.begin(), on.end()).size() == 1);
      if (text("podSetSliceRequiredTopology") == "rack") {
        const auto size = asked->at("podSetSliceSize").to_number<std::size_t>();
        for (std::size_t i = 0; i < on.size(); i += size) {
          const std::vector<std::string> slice{
              on.begin() + static_cast<std::ptrdiff_t>(i),
              on.begin() + static_cast<std::ptrdiff_t>(std::min(on.size(), i + size))};
          CHECK(racks(slice).size() == 1);
        }
      }
      if (!text("podSetGroupName").empty()) of_all.merge(racks(on));
    }
    CHECK(of_all.size() <= 1);
  }
  for (const char* const node : {"n1", "n2", "n3", "n4"}) {
    CAPTURE(node);
    CHECK(assigned_on(w, node) <= 8);
  }
}

TEST_CASE("pods get nodes as they ask for them, and nodes are read only where they are needed") {
  {
    world plain;
    plain.kueue.add_nodes(4);
    plain.kueue.submit("a", 2, 4, 1'000'000);
    plain.ticks(6);
    CHECK(plain.kueue.api.count("/api/v1/nodes") == 0);
    CHECK(plain.kueue.api.count("/api/v1/pods") == 0);
  }
  world w{"kueue", 1, false, true};
  made_up_kueue& k = w.kueue;
  const auto plain = k.submit("a", 3, 4, 1'000'000);
  const auto rack = k.submit("a", {{.count = 4, .gpus = 2, .topology = required("rack")}}, 1'000'000);
  const auto other = k.submit("c", 1, 8, 1'000'000);
  w.ticks(6);
  CHECK(k.is(plain, "Admitted"));
  CHECK(k.is(rack, "Admitted"));
  CHECK(k.is(other, "Admitted"));
  check_places(w);
  const json::value& at = k.object(rack).at("status").at("admission").at("podSetAssignments").at(0);
  CHECK(at.at("topologyAssignment").at("levels") == json::array{"kubernetes.io/hostname"});
  w.replays();
}

TEST_CASE("what has no place waits, and says that") {
  world w{"kueue", 1, false, true};
  made_up_kueue& k = w.kueue;
  // 6 GPUs on each node are left: quota for 8 more, but not together.
  for (const char* const node : {"n1", "n2", "n3", "n4"}) k.set_pod(std::string{"daemon-"} + node, node, 2);
  const auto whole = k.submit("a", {{.count = 1, .gpus = 8, .topology = required("rack")}}, 10'000);
  const auto never = k.submit("a", {{.count = 3, .gpus = 8, .topology = required("rack")}}, 10'000);
  const auto fits = k.submit("a", {{.count = 2, .gpus = 6, .topology = required("rack")}}, 10'000);
  w.ticks(6);
  CHECK_FALSE(k.is(whole, "QuotaReserved"));
  CHECK(k.message(whole, allot_kueue::waiting_condition).find(" gpu are free, but not together") !=
        std::string::npos);
  CHECK(k.message(never, allot_kueue::waiting_condition).starts_with("refused: "));
  CHECK(k.message(never, allot_kueue::waiting_condition).find("one domain") != std::string::npos);
  CHECK(k.is(fits, "Admitted"));
  k.remove_pod("daemon-n1");
  k.remove_pod("daemon-n2");
  w.ticks(80);
  CHECK(k.jobs.at(whole).ends == 1);
}

TEST_CASE("what can't be placed is refused with a reason") {
  struct one {
    std::vector<pod_set> sets;
    const char* why;
    json::object annotations{};
  };
  const auto slices = [](const char* level) {
    return json::object{{"podSetSliceRequiredTopology", level}, {"podSetSliceSize", 2}};
  };
  json::object above = slices("rack");
  above["required"] = "kubernetes.io/hostname";
  json::object layers;
  layers["podsetSliceRequiredTopologyConstraints"] =
      json::array{{{"topology", "rack"}, {"size", 4}}, {{"topology", "kubernetes.io/hostname"}, {"size", 2}}};
  const json::object in_group{{"required", "rack"}, {"podSetGroupName", "g"}};
  const json::object disk{
      {"containers",
       {{{"name", "c"}, {"resources", {{"requests", {{"nvidia.com/gpu", 1}, {"example.com/disk", 1}}}}}}}}};
  const std::vector<one> all{
      {{{.count = 4, .gpus = 2, .topology = above}}, "is above that of all its pods"},
      {{{.count = 4, .gpus = 2, .topology = layers}}, "slices in slices"},
      {{{.name = "x", .gpus = 2, .topology = in_group},
        {.name = "y", .gpus = 2, .topology = in_group},
        {.name = "z", .gpus = 2, .topology = required("rack")}},
       "no group of pod sets beside other pod sets"},
      {{{.count = 2, .gpus = 2}}, "elastic", {{"kueue.x-k8s.io/workload-slice-replacement-for", "other"}}},
      {{{.count = 2, .gpus = 2, .more = {{"nodeSelector", {{"rack", "r9"}}}}}}, "no node of its flavors"},
  };
  world w{"kueue", 1, false, true};
  for (const one& o : all) {
    CAPTURE(std::string{o.why});
    const auto name = w.kueue.submit("a", o.sets, 1000, 0, o.annotations);
    w.ticks(4);
    CHECK_FALSE(w.kueue.is(name, "QuotaReserved"));
    CAPTURE(w.kueue.message(name, allot_kueue::waiting_condition));
    CHECK(w.kueue.message(name, allot_kueue::waiting_condition).find(o.why) != std::string::npos);
    w.kueue.remove(name);
  }
}

TEST_CASE("pods go where their nodes' labels and taints let them") {
  world w{"kueue", 1, false, true};
  made_up_kueue& k = w.kueue;
  k.set_node("n2", true, {{"disk", "fast"}});
  k.set_node("n3", true, {}, {{{"key", "only"}, {"value", "x"}, {"effect", "NoSchedule"}}});
  const json::object tolerates{{"tolerations", {{{"key", "only"}, {"operator", "Exists"}}}},
                               {"nodeSelector", {{"rack", "r2"}}}};
  const auto fast =
      k.submit("a", {{.count = 2, .gpus = 4, .more = {{"nodeSelector", {{"disk", "fast"}}}}}}, 1'000'000);
  const auto tolerant = k.submit("a", {{.count = 2, .gpus = 8, .more = tolerates}}, 1'000'000);
  const auto plain = k.submit("b", 1, 8, 1'000'000);
  w.ticks(8);
  CHECK(k.places(fast) == places_of{{"main", {"n2", "n2"}}});
  CHECK(k.places(tolerant) == places_of{{"main", {"n3", "n4"}}});
  CHECK(k.places(plain) == places_of{{"main", {"n1"}}});
  // Neither a node that is cordoned in effect, nor one that comes.
  k.set_node("n5", false);
  const auto last = k.submit("a", 1, 8, 1'000'000, 9);
  w.ticks(4);
  CHECK_FALSE(k.is(last, "QuotaReserved"));
  w.replays();
}

TEST_CASE("a node that fails: what was there starts on others, once") {
  world w{"standard", 1, false, true};
  made_up_kueue& k = w.kueue;
  const auto first = k.submit("a", {{.count = 2, .gpus = 8, .topology = required("rack")}}, 60'000);
  w.ticks(6);
  const auto before = k.places(first).at("main");
  k.set_node(before.front(), false);
  w.ticks(20);
  CHECK(k.jobs.at(first).evictions == 1);
  const auto after = k.places(first).at("main");
  CHECK(racks(after) != racks(before));
  check_places(w);
  w.ticks(150);
  CHECK(k.jobs.at(first).ends == 1);
  CHECK(k.jobs.at(first).evictions == 1);
}

TEST_CASE("a restart finds everybody where they are") {
  for (const bool with_journal : {false, true}) {
    world w{"kueue_fair", 1, false, true};
    made_up_kueue& k = w.kueue;
    std::vector<std::string> all;
    for (int i = 0; i < 3; ++i) all.push_back(k.submit("a", 2, 3, 1'000'000));
    all.push_back(
        k.submit("b", {{.count = 2, .gpus = 4, .topology = required("kubernetes.io/hostname")}}, 1'000'000));
    w.ticks(6);
    std::map<std::string, places_of> before;
    for (const auto& name : all) before[name] = k.places(name);
    const std::size_t writes = k.api.count("PATCH ");
    w.restart(with_journal);
    w.ticks(6);
    CHECK(k.api.count("PATCH ") == writes);
    for (const auto& name : all) CHECK(k.places(name) == before.at(name));
    // 6 are left, two of them on a node: the books are right.
    const auto big = k.submit("a", {{.count = 1, .gpus = 8}}, 1000);
    const auto small = k.submit("a", {{.count = 1, .gpus = 2}}, 1'000'000);
    w.ticks(6);
    CHECK_FALSE(k.is(big, "QuotaReserved"));
    CHECK(k.is(small, "Admitted"));
    check_places(w);
  }
}

TEST_CASE("GPUs of pods that still stop are not given away") {
  world w{"standard", 1, false, true};
  made_up_kueue& k = w.kueue;
  for (int i = 0; i < 4; ++i) k.set_pod("old-" + std::to_string(i), "n" + std::to_string(i + 1), 8, "job-0");
  const auto first = k.submit("a", 1, 8, 1'000'000);
  w.ticks(6);
  CHECK_FALSE(k.is(first, "QuotaReserved"));
  k.remove_pod("old-2");
  w.ticks(4);
  CHECK(k.places(first) == places_of{{"main", {"n3"}}});
}

TEST_CASE("a node with more on it than it has: who is there too keeps its other nodes after a restart") {
  world w{"kueue", 1, false, true};
  made_up_kueue& k = w.kueue;
  const json::object in_first_rack{{"nodeSelector", {{"rack", "r1"}}}};
  k.set_pod("daemon", "n1", 4);
  const auto first = k.submit("a", {{.count = 3, .gpus = 4, .more = in_first_rack}}, 1'000'000);
  w.ticks(6);
  CHECK(k.places(first) == places_of{{"main", {"n1", "n2", "n2"}}});
  k.set_pod("late", "n1", 2);
  w.restart(false);
  const auto second = k.submit("a", {{.count = 1, .gpus = 4, .more = in_first_rack}}, 1'000'000);
  w.ticks(6);
  CHECK_FALSE(k.is(second, "QuotaReserved"));
  // What it said of n1 is true again once there is room for all.
  k.remove(first);
  w.ticks(10);
  CHECK(k.places(second) == places_of{{"main", {"n2"}}});
  const auto third = k.submit(
      "a", {{.count = 1, .gpus = 4, .topology = required("rack"), .more = in_first_rack}}, 1'000'000);
  const auto fourth = k.submit("a", {{.count = 1, .gpus = 4, .more = in_first_rack}}, 1'000'000);
  w.ticks(6);
  CHECK(k.is(third, "Admitted") != k.is(fourth, "Admitted"));
}

TEST_CASE("who makes room elsewhere leaves once, and is not back before who it is for") {
  world w{"runai", 1, false, true};
  made_up_kueue& k = w.kueue;
  for (const char* const node : {"n1", "n3"}) k.set_pod(std::string{"daemon-"} + node, node, 4);
  const auto moved = k.submit("a", 2, 4, 1'000'000);
  w.ticks(6);
  CHECK(k.places(moved) == places_of{{"main", {"n1", "n3"}}});
  k.remove_pod("daemon-n1");
  k.remove_pod("daemon-n3");
  const auto large = k.submit("a", {{.count = 4, .gpus = 4, .topology = required("rack")}}, 1'000'000);
  w.ticks(40);
  CHECK(k.is(large, "Admitted"));
  CHECK(k.is(moved, "Admitted"));
  CHECK(k.jobs.at(moved).evictions == 1);
  check_places(w);
}

void run_world(allot_test::random_source& random, const std::string& policy) {
  CAPTURE(policy);
  world w{policy, random(), false, true};
  made_up_kueue& k = w.kueue;
  static constexpr const char* queues[] = {"a", "b", "c"};
  static constexpr const char* names[] = {"n1", "n2", "n3", "n4"};
  const auto request = [&](std::int64_t count) -> json::object {
    switch (random.below(6)) {
      case 0:
        return {{"required", "rack"}};
      case 1:
        return {{"preferred", "rack"}};
      case 2:
        return {{"podSetSliceRequiredTopology", "rack"},
                {"podSetSliceSize", std::max<std::int64_t>(1, count / 2)}};
      case 3:
        return {{"preferred", "kubernetes.io/hostname"}};
      case 4:
        return {{"unconstrained", true}};
      default:
        return {};
    }
  };
  const auto submit = [&] {
    const std::string queue = random.pick(queues);
    const auto lasts = random.between(1, 60) * 1000;
    const auto priority = random.between(0, 2);
    if (queue == "c") {
      k.submit(queue, random.between(1, 2), random.between(1, 4), lasts, priority);
    } else if (random.one_in(4)) {
      const json::object group{{"required", "rack"}, {"podSetGroupName", "g"}};
      const bool is_group = random.one_in(2);
      k.submit(queue,
               {{.name = "leader",
                 .count = 1,
                 .gpus = random.between(0, 2),
                 .topology = is_group ? group : request(1)},
                {.name = "workers",
                 .count = 3,
                 .gpus = random.between(1, 4),
                 .topology = is_group ? group : request(3)}},
               lasts, priority);
    } else {
      const auto count = random.between(1, 4);
      k.submit(queue, {{.count = count, .gpus = random.between(1, 4), .topology = request(count)}}, lasts,
               priority);
    }
  };
  int daemons = 0;
  for (int step = 0; step < 50; ++step) {
    switch (random.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        submit();
        break;
      case 6:
      case 7:
      case 8:
        w.make_trouble(random);
        break;
      case 9:
        w.restart(random.one_in(2));
        break;
      case 10:
        if (!k.jobs.empty() && random.one_in(2)) k.remove(k.jobs.begin()->first);
        break;
      case 11:
        k.set_node(random.pick(names), random.one_in(2));
        break;
      case 12:
        k.set_node(random.pick(names), true,
                   random.one_in(2) ? json::object{{"disk", "fast"}} : json::object{});
        break;
      case 13: {
        const std::string node = random.pick(names);
        if (k.gpus_of_pods(node) <= 6)
          k.set_pod("daemon-" + std::to_string(++daemons), node, random.between(1, 2));
        break;
      }
      case 14:
        if (daemons > 0) k.remove_pod("daemon-" + std::to_string(random.between(1, daemons)));
        break;
      default:
        w.clock_off += random.between(-100, 100) * 1000;
        break;
    }
    w.tick(random.between(1, 4000));
    check_places(w);
  }
  for (const char* const node : names) k.set_node(node, true);
  for (; daemons > 0; --daemons) k.remove_pod("daemon-" + std::to_string(daemons));
  w.end_well([&] { check_places(w); });
}

TEST_CASE("whatever goes wrong, no GPU has two pods, and every workload that is placed ends once" *
          doctest::test_suite("schedules")) {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    static constexpr const char* policies[] = {"standard", "kueue", "kueue_fair", "runai", "hyperpod", "pai"};
    const std::string policy = random.pick(policies);
    run_world(random, policy);
  });
}

}  // namespace
