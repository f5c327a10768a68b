// SPDX-License-Identifier: BSL-1.0
// Jobs whose pods differ, and their further pods.
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot_test::random_source;
using gpu::any_level;
using gpu::node_id;
using gpu::obstacle;
using gpu::pod_request;
using gpu::pod_set;
using inventory = gpu::topology_inventory;

namespace {

/// Two racks of three nodes with eight GPUs and 64 cores each.
inventory two_racks() {
  std::vector<gpu::node_spec> specs;
  for (const char rack : {'a', 'b'}) {
    gpu::node_spec s;
    s.name = std::string{rack};
    s.count = 3;
    s.gpus = 8;
    s.cpu_milli = 64'000;
    s.labels = {{"rack", std::string{rack}}};
    specs.push_back(std::move(s));
  }
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  gpu::topology racks = gpu::topology_from_labels(nodes, {"rack"}).value();
  return inventory{std::move(nodes), std::move(racks)};
}
constexpr std::uint8_t rack = 0;
constexpr std::uint8_t node = 1;

pod_request all_of(const std::vector<pod_set>& sets, std::uint8_t required = any_level) {
  pod_request r;
  r.sets = {sets.data(), static_cast<std::uint32_t>(sets.size())};
  r.pods = 0;
  for (const pod_set& s : sets) r.pods += s.fewest();
  r.required_level = required;
  return r;
}
std::string where(const inventory& in, gpu::allocation_id a) {
  std::string text;
  for (const gpu::placed_pod& p : in.pods(a)) {
    text.append(text.empty() ? "" : " ").append(in.layout().name(p.where.node));
    text.append(":").append(std::to_string(gpu::count_devices(p.where.devices)));
  }
  return text;
}

}  // namespace

TEST_CASE("pod_sets: a leader on CPUs and workers on GPUs, in one rack, by set") {
  inventory in = two_racks();
  REQUIRE(in.place_at({.gpus = gpus(4)}, std::vector<gpu::pod_location>{{in.layout().find("a-0").value()}}));
  const std::vector<pod_set> sets{{.each = {.cpu_milli = 8000}}, {.each = {.gpus = gpus(8)}, .pods = 3}};
  const auto a = in.place(all_of(sets, rack));
  REQUIRE(a);
  CHECK(where(in, *a) == "b-0:0 b-0:8 b-1:8 b-2:8");
  // The second needs what only one rack had.
  CHECK_FALSE(in.place(all_of(sets, rack)));
  CHECK(in.why_not(all_of(sets, rack)).reason == obstacle::full);
  CHECK(in.why_not(all_of(sets, rack)).set == 1);
  CHECK(to_string(in.why_not(all_of(sets, rack))) == "pod set 2: 24 gpu are asked for and 20 are free");
  in.release(*a);
  CHECK(in.index().used(in.layout().find("b-0").value()) == gpus(0));
  const std::vector<pod_set> too_many{{.each = {.gpus = gpus(8)}, .pods = 4}, {.each = {.cpu_milli = 8000}}};
  CHECK(in.could_ever_fit(all_of(too_many)));
  CHECK_FALSE(in.could_ever_fit(all_of(too_many, rack)));
  CHECK(in.why_not(all_of(too_many, rack)).is_never());
}

TEST_CASE("pod_sets: what fits set by set, but not together") {
  inventory in = two_racks();
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(8)}, .pods = 4},
                                  {.each = {.gpus = gpus(4)}, .pods = 6}};
  const pod_request r = all_of(sets);
  CHECK_FALSE(in.could_place(r));
  CHECK(in.why_not(r).reason == obstacle::sets_never_together);
  CHECK(in.why_not(r).is_never());
  CHECK(in.why_not(r).set == gpu::every_set);
  // What will never be is said before what is not now.
  inventory used = two_racks();
  REQUIRE(used.place({.gpus = gpus(8), .pods = 5}));
  const std::vector<pod_set> never{{.each = {.gpus = gpus(8)}, .pods = 2},
                                   {.each = {.gpus = gpus(8)}, .pods = 7}};
  CHECK(used.why_not(all_of(never)).reason == obstacle::larger_than_cluster);
  CHECK(used.why_not(all_of(never)).set == 1);
  const std::vector<pod_set> fewer{{.each = {.gpus = gpus(8)}, .pods = 4},
                                   {.each = {.gpus = gpus(4)}, .pods = 4}};
  CHECK(in.could_place(all_of(fewer)));
  REQUIRE(in.place({.gpus = gpus(4)}));
  CHECK(in.why_not(all_of(fewer)).reason == obstacle::sets_not_together);
  CHECK_FALSE(in.why_not(all_of(fewer)).is_never());
  CHECK(to_string(in.why_not(all_of(fewer))) == "its pods can't all be placed as its pod sets ask");
}

TEST_CASE("pod_sets: largest first is not always right") {
  // The pod with most GPUs would take the node with the memory that the other needs.
  std::vector<gpu::node_spec> specs(2);
  specs[0].name = "rich";
  specs[0].gpus = 4;
  specs[0].cpu_milli = 64'000;
  specs[1].name = "plain";
  specs[1].gpus = 5;
  specs[1].cpu_milli = 16'000;
  inventory in{gpu::build_cluster(std::move(specs)).value()};
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(4), .cpu_milli = 1000}},
                                  {.each = {.gpus = gpus(2), .cpu_milli = 60'000}}};
  const auto a = in.place(all_of(sets));
  REQUIRE(a);
  CHECK(where(in, *a) == "plain:4 rich:2");
}

TEST_CASE("pod_sets: every rack is tried in every order") {
  // The first rack has room for each set, but one node for the two largest. In the second they fit if the pod
  // that needs memory comes first. There are too many pods to try them one by one.
  std::vector<gpu::node_spec> specs;
  const auto add = [&](const char* name, const char* rack_name, std::int64_t count, std::int64_t size,
                       std::int64_t memory_mib) {
    gpu::node_spec s;
    s.name = name;
    s.count = count;
    s.gpus = size;
    s.memory_mib = memory_mib;
    s.labels = {{"rack", rack_name}};
    specs.push_back(std::move(s));
  };
  add("a", "1", 1, 8, 10);
  add("b", "1", 20, 6, 1);
  add("c", "2", 1, 8, 10);
  add("d", "2", 1, 8, 1);
  add("e", "2", 24, 6, 1);
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  gpu::topology racks = gpu::topology_from_labels(nodes, {"rack"}).value();
  inventory in{std::move(nodes), std::move(racks)};
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(1)}, .pods = 60},
                                  {.each = {.gpus = gpus(2)}, .pods = 2},
                                  {.each = {.gpus = gpus(4)}, .pods = 2},
                                  {.each = {.gpus = gpus(7)}},
                                  {.each = {.gpus = gpus(8), .memory_mib = 10}}};
  const auto a = in.place(all_of(sets, rack));
  REQUIRE(a);
  CHECK(where(in, *a).ends_with(" d-0:7 c-0:8"));
}

TEST_CASE("pod_sets: a node that is in no domain is none in which all are together") {
  std::vector<gpu::node_spec> specs(2);
  specs[0].name = "outside";
  specs[0].gpus = 4;
  specs[1].name = "inside";
  specs[1].count = 2;
  specs[1].gpus = 3;
  specs[1].labels = {{"rack", "1"}};
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  gpu::topology racks = gpu::topology_from_labels(nodes, {"rack"}, {.allow_outside = true}).value();
  inventory in{std::move(nodes), std::move(racks)};
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(2)}}, {.each = {.gpus = gpus(1)}, .pods = 2}};
  pod_request r = all_of(sets, rack);
  r.preferred_level = node;
  const auto a = in.place(r);
  REQUIRE(a);
  for (const gpu::placed_pod& p : in.pods(*a)) CHECK(in.layout().name(p.where.node) != "outside");
}

TEST_CASE("pod_sets: what was not proved impossible is not refused for good") {
  // 66 pods on 22 nodes with three GPUs and memory that suits only some ways to divide them.
  std::vector<gpu::node_spec> specs(1);
  specs[0].name = "n";
  specs[0].count = 22;
  specs[0].gpus = 6;
  specs[0].memory_mib = 10;
  inventory in{gpu::build_cluster(std::move(specs)).value()};
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(3), .memory_mib = 2}, .pods = 22},
                                  {.each = {.gpus = gpus(2), .memory_mib = 4}, .pods = 22},
                                  {.each = {.gpus = gpus(1), .memory_mib = 4}, .pods = 22}};
  CHECK(in.could_ever_fit(all_of(sets)));
  CHECK_FALSE(in.why_not(all_of(sets)).is_never());
}

TEST_CASE("pod_sets: a further pod is on a node that its set accepts, however near another is") {
  std::vector<gpu::node_spec> specs(2);
  specs[0].name = "lead";
  specs[0].gpus = 8;
  specs[0].pool = "other";
  specs[1].name = "work";
  specs[1].gpus = 8;
  specs[1].pool = "workers";
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  const std::uint64_t workers = std::uint64_t{1} << nodes.find_pool("workers").value();
  gpu::topology all = gpu::topology_from_labels(nodes, {}).value();
  inventory in{std::move(nodes), std::move(all)};
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(1), .pools = ~workers}},
                                  {.each = {.gpus = gpus(1), .pools = workers}, .pods = 2, .min_pods = 1}};
  pod_request r = all_of(sets);
  r.preferred_level = 0;
  const auto core = in.place(r);
  REQUIRE(core);
  r.pods = 1;
  r.one_of = 1;
  const auto more = in.place(r.beside(*core));
  REQUIRE(more);
  CHECK(where(in, *core) == "lead:1 work:1");
  CHECK(where(in, *more) == "work:1");
}

TEST_CASE("pod_sets: how much others lose to unlike pods is not known") {
  inventory in = two_racks();
  gpu::topology_inventory::room_counter counter;
  REQUIRE(counter.begin(in, {.gpus = gpus(8)}));
  const std::vector<pod_set> sets{{.each = {.gpus = gpus(8)}, .pods = 2}};
  CHECK(counter.taken_by(in, all_of(sets)).second >= 2);
}

TEST_CASE("pod_sets: slices, and pods that must not stand together") {
  inventory in = two_racks();
  const std::vector<pod_set> slices{{.each = {.gpus = gpus(4)}, .pods = 8, .slice = 4, .slice_level = rack}};
  const auto a = in.place(all_of(slices));
  REQUIRE(a);
  std::map<std::string, int> in_rack;
  for (const gpu::placed_pod& p : in.pods(*a)) ++in_rack[in.layout().name(p.where.node).substr(0, 1)];
  for (const auto& [name, pods] : in_rack) CHECK(pods % 4 == 0);
  in.release(*a);
  const std::vector<pod_set> apart{
      {.each = {.gpus = gpus(1)}, .pods = 4, .spread_level = rack, .most_together = 2}};
  const auto b = in.place(all_of(apart));
  REQUIRE(b);
  in_rack.clear();
  for (const gpu::placed_pod& p : in.pods(*b)) ++in_rack[in.layout().name(p.where.node).substr(0, 1)];
  CHECK(in_rack == std::map<std::string, int>{{"a", 2}, {"b", 2}});
  std::vector<pod_set> five = apart;
  five[0].pods = 5;
  CHECK_FALSE(in.could_ever_fit(all_of(five)));
  // One by one, where further pods would be is not known: such sets are not elastic.
  std::vector<pod_set> elastic = apart;
  elastic[0].min_pods = 2;
  CHECK_FALSE(in.could_ever_fit(all_of(elastic)));
}

TEST_CASE("pod_sets: a further pod stands in the domain of the others") {
  inventory in = two_racks();
  const std::vector<pod_set> sets{{.each = {.cpu_milli = 1000}},
                                  {.each = {.gpus = gpus(8)}, .pods = 4, .min_pods = 2}};
  const auto core = in.place(all_of(sets, rack));
  REQUIRE(core);
  CHECK(where(in, *core) == "a-0:0 a-0:8 a-1:8");
  pod_request more = all_of(sets, rack).beside(*core);
  more.one_of = 1;
  const auto third = in.place(more);
  REQUIRE(third);
  CHECK(where(in, *third) == "a-2:8");
  CHECK_FALSE(in.place(more));
  CHECK(in.why_not(more).reason == obstacle::no_room_beside);
  // So does one of a job of equal pods.
  inventory other = two_racks();
  const pod_request equal{.gpus = gpus(8), .pods = 2, .required_level = rack};
  const auto first = other.place(equal);
  REQUIRE(first);
  pod_request one = equal.beside(*first);
  one.pods = 1;
  REQUIRE(other.place(one));
  CHECK_FALSE(other.place(one));
  CHECK(other.why_not(one).reason == obstacle::no_room_beside);
  // Without levels it does not matter where.
  const pod_request anywhere{.gpus = gpus(8), .pods = 2};
  CHECK(anywhere.beside(*first) == anywhere);
}

TEST_CASE("pod_sets: the flavor that a set has chosen says where its pods may be") {
  inventory in = two_racks();
  // Rack a is of no pool of its own here: all nodes are of pool 0.
  const std::vector<std::uint64_t> nowhere_or_all{0, gpu::all_pools};
  std::vector<pod_set> sets{{.each = {.cpu_milli = 1000}}, {.each = {.gpus = gpus(4)}, .pods = 2}};
  sets[1].pools = {nowhere_or_all.data(), 2};
  sets[1].group = 2;
  pod_request r = all_of(sets);
  CHECK_FALSE(in.could_place(r));
  r.options[2] = 1;
  CHECK(in.could_place(r));
  CHECK_FALSE(r == all_of(sets));
}

TEST_CASE("pod_sets: pods that run already, by set") {
  inventory in = two_racks();
  const std::vector<pod_set> sets{{.each = {.cpu_milli = 1000}}, {.each = {.gpus = gpus(4)}, .pods = 2}};
  const auto at = [&](const char* name) { return gpu::pod_location{in.layout().find(name).value()}; };
  const auto a = in.place_at(all_of(sets), std::vector<gpu::pod_location>{at("b-2"), at("a-0"), at("b-2")});
  REQUIRE(a);
  CHECK(where(in, *a) == "b-2:0 a-0:4 b-2:4");
  CHECK_FALSE(in.place_at(all_of(sets), std::vector<gpu::pod_location>{at("b-2"), at("a-0")}));
}

TEST_CASE(
    "pod_sets: an inventory without topology places them too, a plain one does not, and levels are checked") {
  const std::vector<pod_set> sets{{.each = {.cpu_milli = 1000}}, {.each = {.gpus = gpus(4)}, .pods = 2}};
  inventory flat{two_racks().layout()};
  CHECK(flat.place(all_of(sets)));
  CHECK_FALSE(flat.place(all_of(sets, rack)));
  CHECK_FALSE(flat.could_ever_fit(all_of(sets, rack)));
  gpu::inventory plain{two_racks().layout()};
  CHECK_FALSE(plain.place(all_of(sets)));
  CHECK_FALSE(plain.could_ever_fit(all_of(sets)));
  inventory in = two_racks();
  std::vector<pod_set> wrong = sets;
  wrong[1].each.required_level = 7;
  CHECK_FALSE(in.place(all_of(wrong)));
  wrong = sets;
  wrong[1].slice = 2;
  CHECK_FALSE(in.place(all_of(wrong)));
}

namespace {

/// Whether the pods of some sets have a place, by trying everything. Whole GPUs and cores only.
struct set_oracle {
  const inventory& in;
  const std::vector<pod_set>& sets;
  std::uint8_t required;
  std::vector<std::size_t> set_of;
  std::vector<node_id> at;
  std::vector<std::int64_t> gpus_left;
  std::vector<std::int64_t> cpu_left;
  /// By pod: the node where it stays, if it is to stay.
  std::vector<std::optional<node_id>> stays{};

  set_oracle(const inventory& of, const std::vector<pod_set>& all, std::uint8_t level)
      : in(of), sets(all), required(level) {
    for (std::size_t s = 0; s < sets.size(); ++s) set_of.insert(set_of.end(), sets[s].pods, s);
    for (std::size_t n = 0; n < in.layout().size(); ++n) {
      const bool is_open = !in.is_closed(node_id{n});
      gpus_left.push_back(is_open ? std::popcount(in.index().free_devices(node_id{n})) : -1);
      cpu_left.push_back(in.index().hosts().free_cpu_milli(node_id{n}));
    }
  }
  [[nodiscard]] bool together(node_id a, node_id b, std::uint8_t level) const {
    const gpu::topology& t = *in.nearness();
    if (level == t.node_level()) return a == b;
    return t.domain_of(a, level) && t.domain_of(a, level) == t.domain_of(b, level);
  }
  [[nodiscard]] bool in_domain(node_id n, std::uint8_t level) const { return together(n, n, level); }
  /// Whether pod number `at.size() - 1` may be where it is.
  [[nodiscard]] bool allowed() const {
    const std::size_t last = at.size() - 1;
    const node_id n = at[last];
    const pod_set& set = sets[set_of[last]];
    if (required != any_level && !(in_domain(n, required) && together(n, at[0], required))) return false;
    std::size_t number = 0;
    std::uint32_t near = 0;
    std::optional<node_id> first_of_slice;
    for (std::size_t i = 0; i < last; ++i) {
      if (set_of[i] != set_of[last]) continue;
      if (set.each.required_level != any_level && !together(at[i], n, set.each.required_level)) return false;
      if (set.most_together != 0 && together(at[i], n, set.spread_level)) ++near;
      if (set.slice != 0 && number % set.slice == 0) first_of_slice = at[i];
      ++number;
    }
    if (set.each.required_level != any_level && !in_domain(n, set.each.required_level)) return false;
    if (set.most_together != 0 && (near >= set.most_together || !in_domain(n, set.spread_level)))
      return false;
    if (set.slice == 0) return true;
    return in_domain(n, set.slice_level) &&
           (number % set.slice == 0 || together(*first_of_slice, n, set.slice_level));
  }
  [[nodiscard]] bool exists() {
    if (at.size() == set_of.size()) return true;
    const std::size_t k = at.size();
    const pod_set& set = sets[set_of[k]];
    // Equal pods that no slice tells apart are on nodes in order.
    const bool follows = k > 0 && set_of[k - 1] == set_of[k] && set.slice == 0 && stays.empty();
    for (std::size_t n = follows ? at[k - 1].index() : 0; n < gpus_left.size(); ++n) {
      if (!stays.empty() && stays[k].value_or(node_id{n}) != node_id{n}) continue;
      const std::int64_t wants = set.each.gpus.in_milli() / 1000;
      if (gpus_left[n] < wants || cpu_left[n] < set.each.cpu_milli) continue;
      at.push_back(node_id{n});
      gpus_left[n] -= wants;
      cpu_left[n] -= set.each.cpu_milli;
      const bool found = allowed() && exists();
      gpus_left[n] += wants;
      cpu_left[n] += set.each.cpu_milli;
      if (found) return true;
      at.pop_back();
    }
    return false;
  }
};

/// Up to six nodes in racks and rows, some GPUs and cores in use, some nodes closed.
inventory random_world(random_source& random) {
  std::vector<gpu::node_spec> specs(1 + random.below(6));
  for (std::size_t n = 0; n < specs.size(); ++n) {
    specs[n].name = "n" + std::to_string(n);
    specs[n].gpus = static_cast<std::uint32_t>(random.pick(std::vector<int>{0, 4, 8, 8}));
    specs[n].cpu_milli = random.pick(std::vector<std::int64_t>{8000, 16'000, 32'000});
    specs[n].labels = {{"row", std::to_string(random.below(2))}, {"rack", std::to_string(random.below(2))}};
  }
  gpu::cluster nodes = gpu::build_cluster(std::move(specs)).value();
  gpu::topology near = gpu::topology_from_labels(nodes, {"row", "rack"}).value();
  inventory in{std::move(nodes), std::move(near)};
  for (std::size_t n = 0; n < in.layout().size(); ++n) {
    const std::vector<gpu::pod_location> there{{node_id{n}}};
    const auto used = static_cast<std::int64_t>(random.below(in.layout().gpus(node_id{n}) + 1));
    if (random.one_in(2)) static_cast<void>(in.place_at({.gpus = gpus(used), .cpu_milli = 2000}, there));
    if (random.one_in(10)) in.close(node_id{n});
  }
  return in;
}
std::vector<pod_set> random_sets(random_source& random) {
  std::vector<pod_set> sets(1 + random.below(4));
  const auto level = [&] { return static_cast<std::uint8_t>(random.below(3)); };
  std::size_t left = 12;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const std::size_t most = left - (sets.size() - s - 1);
    sets[s].pods = static_cast<std::uint32_t>(1 + random.below(std::min<std::size_t>(most, 5)));
    left -= sets[s].pods;
    sets[s].each.gpus = gpus(random.pick(std::vector<std::int64_t>{0, 1, 2, 3, 4, 8}));
    sets[s].each.cpu_milli = random.pick(std::vector<std::int64_t>{0, 1000, 4000, 9000});
    if (random.one_in(4)) sets[s].each.required_level = level();
    if (random.one_in(6))
      sets[s].slice = 1 + static_cast<std::uint32_t>(random.below(3)), sets[s].slice_level = level();
    if (random.one_in(6))
      sets[s].most_together = 1 + static_cast<std::uint32_t>(random.below(2)), sets[s].spread_level = level();
  }
  return sets;
}

}  // namespace

TEST_CASE("pod_sets: a whole placement is found exactly when there is one, up to six nodes and twelve pods") {
  std::size_t found = 0;
  std::size_t none = 0;
  allot_test::for_each_seed(2000, [&](random_source& random) {
    inventory in = random_world(random);
    const std::vector<pod_set> sets = random_sets(random);
    const std::uint8_t required = random.one_in(2) ? static_cast<std::uint8_t>(random.below(3)) : any_level;
    pod_request r = all_of(sets, required);
    if (random.one_in(3)) {
      r.preferred_level = static_cast<std::uint8_t>(random.between(required == any_level ? 0 : required, 2));
    }
    set_oracle oracle{in, sets, required};
    const bool expected = oracle.exists();
    ++(expected ? found : none);
    const inventory before = in;
    CHECK(in.could_place(r) == expected);
    CHECK(in == before);
    CHECK(in.why_not(r).says_no() == !expected);
    const auto a = in.place(r);
    CHECK(a.has_value() == expected);
    if (!a) {
      CHECK(in == before);
      return;
    }
    CHECK(in.could_ever_fit(r));
    // It is one that is allowed, by set.
    set_oracle check{before, sets, required};
    std::size_t number = 0;
    for (const gpu::placed_pod& p : in.pods(*a)) {
      REQUIRE(number < check.set_of.size());
      const pod_set& set = sets[check.set_of[number++]];
      check.at.push_back(p.where.node);
      CHECK(check.allowed());
      CHECK(gpus(gpu::count_devices(p.where.devices)) == set.each.gpus);
      CHECK(p.cpu_milli == set.each.cpu_milli);
      CHECK_FALSE(before.is_closed(p.where.node));
    }
    CHECK(number == check.set_of.size());
    in.release(*a);
    CHECK(in.index() == before.index());
  });
  if (allot_test::all_cases_run()) {
    CHECK(found > 300);
    CHECK(none > 300);
  }
}

TEST_CASE("pod_sets: pods on failed nodes are replaced beside the others exactly when that is possible") {
  std::size_t replaced = 0;
  std::size_t none = 0;
  allot_test::for_each_seed(8000, [&](random_source& random) {
    inventory in = random_world(random);
    std::vector<pod_set> sets = random_sets(random);
    const std::uint8_t required = random.one_in(2) ? static_cast<std::uint8_t>(random.below(3)) : any_level;
    pod_request r = all_of(sets, required);
    if (random.one_in(5)) {
      // The same for pods that are alike.
      sets.resize(1);
      sets[0].each.required_level = any_level;
      sets[0].slice = sets[0].most_together = 0;
      r = sets[0].of(sets[0].pods, {});
      r.required_level = required;
    }
    const auto a = in.place(r);
    if (!a) return;
    CHECK(in.replace(*a, r) == a);
    for (std::size_t n = 0; n < in.layout().size(); ++n) {
      if (random.one_in(3)) in.close(node_id{n});
      // Some that were closed, or full, are free again by now.
      if (random.one_in(4)) in.reopen(node_id{n});
    }
    inventory without = in;
    without.release(*a);
    set_oracle oracle{without, sets, required};
    std::vector<gpu::placed_pod> before;
    std::size_t lost = 0;
    for (const gpu::placed_pod& p : in.pods(*a)) {
      before.push_back(p);
      const bool is_lost = in.is_closed(p.where.node);
      lost += is_lost ? 1U : 0U;
      oracle.stays.push_back(is_lost ? std::nullopt : std::optional{p.where.node});
    }
    if (lost == 0 || lost == before.size()) {
      if (lost != 0) CHECK_FALSE(in.replace(*a, r));
      return;
    }
    const bool expected = oracle.exists();
    ++(expected ? replaced : none);
    const inventory failed = in;
    const auto at = in.replace(*a, r);
    CHECK(at.has_value() == expected);
    if (!at) {
      CHECK(in == failed);
      return;
    }
    CHECK(in.usable(*at));
    set_oracle check{without, sets, required};
    std::size_t number = 0;
    for (const gpu::placed_pod& p : in.pods(*at)) {
      REQUIRE(number < before.size());
      if (oracle.stays[number]) CHECK(p == before[number]);
      check.at.push_back(p.where.node);
      CHECK(check.allowed());
      CHECK(p.gpus() == before[number].gpus());
      CHECK(p.cpu_milli == before[number].cpu_milli);
      ++number;
    }
    CHECK(number == before.size());
    in.release(*at);
    CHECK(in.index() == without.index());
  });
  if (allot_test::all_cases_run()) {
    CHECK(replaced > 100);
    CHECK(none > 100);
  }
}

TEST_CASE("pod_sets: a pod is replaced where it can start at once, and parts of a total are, too") {
  inventory in = two_racks();
  const auto node_named = [&](const char* name) { return in.layout().find(name).value(); };
  const pod_request total{.gpus = gpus(20), .total = true, .required_level = rack};
  const auto job = in.place(total);
  REQUIRE(job);
  const auto leaving = in.place_at({.gpus = gpus(8)}, std::vector<gpu::pod_location>{{node_named("b-2"), 0}});
  REQUIRE(leaving);
  CHECK(where(in, *job) == "a-0:8 a-1:8 a-2:4");
  in.close(node_named("a-2"));
  // Not in its rack.
  CHECK_FALSE(in.replace(*job, total));
  pod_request anywhere = total;
  anywhere.required_level = any_level;
  anywhere.preferred_level = rack;
  const auto filler =
      in.place_at({.gpus = gpus(6), .pods = 2},
                  std::vector<gpu::pod_location>{{node_named("b-0"), 0}, {node_named("b-1"), 0}});
  REQUIRE(filler);
  // Nor where another still is.
  in.vacate(*leaving);
  CHECK_FALSE(in.replace(*job, anywhere));
  in.release(*leaving);
  const auto at = in.replace(*job, anywhere);
  REQUIRE(at);
  CHECK(where(in, *at) == "a-0:8 a-1:8 b-2:4");
  CHECK_FALSE(in.contains(*job));
}

TEST_CASE("pod_sets: placing such a job again does not allocate") {
  inventory in = two_racks();
  const std::vector<pod_set> sets{
      {.each = {.cpu_milli = 8000}},
      {.each = {.gpus = gpus(4)}, .pods = 3},
      {.each = {.gpus = gpus(2)}, .pods = 3, .spread_level = node, .most_together = 1}};
  const pod_request r = all_of(sets, rack);
  const auto round = [&] {
    const auto a = in.place(r);
    if (a) in.release(*a);
    return a.has_value();
  };
  REQUIRE(round());
  REQUIRE(round());
  CHECK(allot_test::allocations_in(round) == 0);
}
