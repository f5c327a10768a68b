// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/detail/books.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::sim::places;
using allot_test::random_source;

static_assert(allot::placement<places>);
static_assert(allot::charging_view<allot::sim::workload_view<1>, places>);

TEST_CASE("places: without nodes everything fits, and nothing is recorded") {
  places p;
  CHECK_FALSE(p.has_nodes());
  const auto before = p.save();
  const auto at = p.place({.gpus = gpus(1'000'000), .pods = 7});
  REQUIRE(at.has_value());
  CHECK(p.could_ever_fit({.gpus = gpus(1'000'000)}));
  CHECK(p.ready(*at));
  CHECK(p.contains(*at));
  CHECK(p.usable(*at));
  CHECK(p.vacate(*at));
  CHECK(p.reoccupy(*at));
  CHECK(p.release(*at));
  CHECK(p.place_at({.gpus = gpus(1)}, {}) == at);
  places::host_nodes nodes{p};
  CHECK_FALSE(nodes.close(allot::gpu::node_id{0}));
  CHECK_FALSE(nodes.reopen(allot::gpu::node_id{0}));
  CHECK_FALSE(nodes.expect_end(*at, 1));
  const allot::gpu::allocation_id of_others{0};
  CHECK_FALSE(p.contains(of_others));
  CHECK_FALSE(p.usable(of_others));
  CHECK_FALSE(p.release(of_others));
  p.rollback(before);
  p.commit(p.save());
}

TEST_CASE("places: with nodes calls go to the inventory") {
  places p{allot::gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value()};
  REQUIRE(p.has_nodes());
  CHECK_FALSE(p.could_ever_fit({.gpus = gpus(9)}));
  const auto first = p.place({.gpus = gpus(8)});
  const auto before = p.save();
  const auto second = p.place({.gpus = gpus(8)});
  REQUIRE(second.has_value());
  CHECK_FALSE(p.place({.gpus = gpus(1)}).has_value());
  const allot::gpu::unplaceable why = p.inventory().why_not({.gpus = gpus(1)});
  CHECK(p.why_not({.gpus = gpus(1)}) == why);
  p.explain_in_brief(true);
  allot::gpu::unplaceable brief;
  brief.reason = why.reason;
  CHECK(p.why_not({.gpus = gpus(1)}) == brief);
  p.explain_in_brief(false);
  CHECK(p.why_not({.gpus = gpus(1)}) == why);
  p.rollback(before);
  CHECK(p.inventory().free() == gpus(8));
  p.vacate(*first);
  CHECK(p.inventory().free() == gpus(16));
  const auto third = p.place({.gpus = gpus(16), .total = true});
  REQUIRE(third.has_value());
  CHECK_FALSE(p.ready(*third));
  CHECK(p.contains(*first));
  CHECK(p.release(*first));
  CHECK(p.ready(*third));
  CHECK_FALSE(p.contains(*first));
  CHECK_FALSE(p.release(*first));
  CHECK_FALSE(p.vacate(*first));
  CHECK_FALSE(p.reoccupy(*first));
  CHECK(p.usable(*third));
  places::host_nodes nodes{p};
  CHECK(nodes.close(allot::gpu::node_id{1}));
  CHECK_FALSE(p.usable(*third));
  CHECK(nodes.expect_end(*third, 7));
  CHECK(p.contains(*third));
  CHECK(p.release(*third));
  const allot::gpu::pod_location where{allot::gpu::node_id{0}, 0b110};
  const auto there = p.place_at({.gpus = gpus(2)}, {&where, 1});
  REQUIRE(there);
  CHECK(p.inventory().pods(*there).begin()->where == where);
  CHECK(nodes.reopen(allot::gpu::node_id{1}));
  CHECK(p.inventory().free() == gpus(14));
  CHECK(p.contains(*there));
  CHECK_FALSE(p.contains(allot::gpu::allocation_id::none()));
}

TEST_CASE("places: the inventory uses the given policy") {
  namespace gpu = allot::gpu;
  const gpu::cluster nodes = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value();
  const auto node_of_second = [&](gpu::placement_name name) {
    places p{nodes, {name, nodes}};
    static_cast<void>(p.place({.gpus = gpus(1)}));
    std::size_t node = 99;
    p.for_each_node(*p.place({.gpus = gpus(1)}), [&](std::size_t n) { node = n; });
    return node;
  };
  CHECK(node_of_second(gpu::placement_name::best) == 0);
  CHECK(node_of_second(gpu::placement_name::worst) == 1);
}

namespace {

/// A different one each time, of all sizes; with CPU and memory that no other requests.
allot::gpu::pod_request demand_number(std::int64_t i) {
  allot::gpu::pod_request d{
      .gpus = gpus(1 + i / 4 % 8), .cpu_milli = 1 + i, .memory_mib = 1 + i * 7 % 10'007};
  if (i % 4 == 0) d.gpus = quantity::milli(1 + i / 4 % 999);
  if (i % 4 == 1) d.pods = 2;
  if (i % 4 == 2) d = {.gpus = gpus(10), .total = true, .cpu_milli = 1 + i};
  if (i % 9 == 0) d.preferred_level = 0;
  return d;
}

}  // namespace

TEST_CASE("places: any number of different pod requests leaves nothing behind") {
  namespace gpu = allot::gpu;
  const gpu::cluster nodes =
      gpu::build_cluster({{.name = "n", .count = 24, .gpus = 8, .cpu_milli = 900'000, .memory_mib = 100'000}})
          .value();
  std::vector<gpu::topology::part> racks;
  for (std::size_t r = 0; r < 3; ++r) {
    gpu::topology::part rack{"r" + std::to_string(r), gpu::topology::part::no_parent, {}};
    for (std::size_t n = 0; n < 8; ++n) rack.nodes.push_back(gpu::node_id{8 * r + n});
    racks.push_back(std::move(rack));
  }
  const gpu::topology near{{"rack"}, racks, nodes.size()};
  for (std::size_t name = 0; name < gpu::placement_names.size(); ++name) {
    CAPTURE(gpu::placement_names[name]);
    const gpu::typical_pods typical{{{{1}, 3}, {{8}, 1}}};
    places p{nodes, near, {static_cast<gpu::placement_name>(name), nodes, typical}};
    places::room_counter asked;
    std::vector<gpu::allocation_id> standing(8);
    std::int64_t next = 0;
    std::size_t placed = 0;
    const auto come_and_go = [&](std::int64_t demands) {
      const std::vector<std::uint32_t> groups{0, 1};
      for (std::int64_t end = next + demands; next < end; ++next) {
        const gpu::pod_request d = demand_number(next);
        static_cast<void>(p.why_not(d));
        static_cast<void>(asked.might_fit(p, d, groups));
        static_cast<void>(asked.begin(p, d));
        const auto tried = p.save();
        const bool would_fit = p.place(d).has_value();
        p.rollback(tried);
        const auto at = p.place(d);
        REQUIRE(at.has_value() == would_fit);
        gpu::allocation_id& old = standing[static_cast<std::size_t>(next) % standing.size()];
        if (old) {
          asked.may_not_go(p, 0, old);
          if (next % 3 == 0) p.vacate(old);
          p.release(old);
        }
        old = at.value_or(gpu::allocation_id{});
        if (at) asked.may_go(p, 0, *at), ++placed;
      }
    };
    come_and_go(300);
    const std::size_t allocations = allot_test::allocations_in([&] { come_and_go(2000); });
    // One for the list of groups.
    CHECK(allocations == 1);
    CHECK(placed > 2000);
    CHECK(p.inventory().size() <= standing.size());
  }
}

namespace {

struct row {
  quota_id quota;
  std::int64_t gpus = 0;
  std::int64_t priority = 0;
  bool preemptible = true;
};
/// A job is its number.
struct table_view {
  using job = std::size_t;
  const std::vector<row>* rows = nullptr;

  quota_id quota(job j) const { return (*rows)[j].quota; }
  allot::resources<> request(job j) const { return gpus((*rows)[j].gpus); }
  std::int64_t priority(job j) const { return (*rows)[j].priority; }
  bool preemptible(job j) const { return (*rows)[j].preemptible; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus((*rows)[j].gpus), .total = true}; }
};

/// The result of a search for each of `asking` when `running` run, and its victims.
template <class Placement>
std::vector<std::pair<allot::search_outcome, std::vector<std::size_t>>> searches(
    const allot::quota_tree<>& tree, Placement where, const std::vector<row>& running,
    const std::vector<row>& asking, const allot::preempt_settings& may) {
  using record = allot::detail::job_record<table_view, Placement>;
  allot::detail::books<table_view, Placement> books{tree, std::move(where)};
  allot::detail::job_table<record> jobs;
  allot::victim_search<1, allot::lowest_priority_then_highest_share, allot::eligible_is_fair> search;
  std::vector<row> rows = running;
  rows.insert(rows.end(), asking.begin(), asking.end());
  const table_view view{&rows};
  const auto add = [&](std::size_t i) -> record& {
    const allot::job_id id = jobs.add();
    allot::detail::read_job(jobs[id], view, i, i);
    jobs[id].facts.id = id;
    return jobs[id];
  };
  for (std::size_t i = 0; i < running.size(); ++i) {
    record& r = add(i);
    if (!books.assumed().fits(r.facts.quota, r.facts.request)) continue;
    const auto at = books.places.place(r.pod_request);
    if (!at) continue;
    r.where = *at;
    books.charge(r);
    books.start(r, static_cast<allot::instant>(i));
  }
  std::vector<std::pair<allot::search_outcome, std::vector<std::size_t>>> said;
  for (std::size_t i = running.size(); i < rows.size(); ++i) {
    record& r = add(i);
    auto& [outcome, victims] = said.emplace_back();
    outcome = books.make_room(jobs, search, r, may, 0, [](const auto&) { return true; });
    if (outcome != allot::search_outcome::found) continue;
    for (const auto& v : search.victims()) victims.push_back(v.job.id.index());
    for (const std::size_t v : victims) books.release(jobs[allot::job_id{v}]);
  }
  return said;
}

}  // namespace

TEST_CASE("places: ruling out searches early changes no result") {
  std::size_t found = 0;
  std::size_t impossible = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    // Any tree; or three that own equal parts of the nodes, of which one uses most.
    const bool is_flat = random.one_in(2);
    const std::int64_t nodes = random.between(1, 8);
    const allot::limit lends = allot::limit::all();
    const allot::quota_tree<> tree =
        is_flat ? allot::build_quota_tree<1>(
                      {{.name = "all"},
                       {.name = "a", .parent = "all", .nominal = gpus(3 * nodes), .lend = lends},
                       {.name = "b", .parent = "all", .nominal = gpus(3 * nodes), .lend = lends},
                       {.name = "c", .parent = "all", .nominal = gpus(2 * nodes), .lend = lends}})
                      .value()
                : allot::quota_tree<>{
                      allot_test::random_quotas<1>(random, {.most_quotas = 6, .one_unlimited_in = 0})};
    const auto quotas = tree.top_down();
    const auto some = [&](std::size_t count, std::int64_t most) {
      std::vector<row> rows(count);
      for (row& r : rows) {
        r = {random.pick(quotas), random.between(1, random.one_in(3) ? most : 2), random.between(0, 2),
             !random.one_in(4)};
        if (!is_flat) continue;
        // The quota that owns much and uses little requests most.
        r.quota = quotas[random.one_in(count < 20 ? 2 : 6) ? 1 : 2 + random.below(2)];
        r.priority = 0;
      }
      return rows;
    };
    const auto running = some(40, 8);
    const auto asking = some(12, 20);
    allot::preempt_settings may;
    if (random.one_in(2)) may.within = allot::preempt_within::lower_or_newer_equal;
    may.children = random.one_in(3);
    if (random.one_in(4)) may.reclaim = allot::preempt_reclaim::lower_priority;
    const auto layout = allot::gpu::build_cluster({{.name = "n", .count = nodes, .gpus = 8}}).value();
    const auto said = searches(tree, places{layout}, running, asking, may);
    CHECK(said == searches(tree, allot::gpu::inventory{layout}, running, asking, may));
    for (const auto& s : said) {
      found += s.first == allot::search_outcome::found ? 1U : 0U;
      impossible += s.first == allot::search_outcome::impossible ? 1U : 0U;
    }
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(found > 50);
  CHECK(impossible > 50);
}
