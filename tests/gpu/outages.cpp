// SPDX-License-Identifier: BSL-1.0
// Nodes that are known to be closed for a while: nothing is placed there that would not have ended.
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_counter.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/random_cluster.hpp"
#include "tests/gpu/random_topology.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/throwing_assert.hpp"

namespace gpu = allot::gpu;
using allot::gpus;
using allot::instant;
using allot::without_end;
using allot_test::random_source;
using gpu::allocation_id;
using gpu::node_id;
using gpu::obstacle;
using gpu::pod_request;

namespace {

pod_request job_of(std::int64_t size, instant span) {
  pod_request r;
  r.gpus = gpus(size);
  r.estimate = {span, true};
  return r;
}
template <class Inventory>
node_id first_node(const Inventory& in, allocation_id a) {
  return (*in.pods(a).begin()).where.node;
}

/// Random outages, some of which are over, on or without an end.
allot::vector<gpu::outage> random_outages(random_source& random, std::size_t nodes) {
  allot::vector<gpu::outage> all;
  for (std::size_t i = random.below(4); i > 0; --i) {
    const instant from = random.between(-5, 20);
    all.push_back(
        {node_id{random.below(nodes)}, from, random.one_in(3) ? without_end : from + random.between(0, 20)});
  }
  return all;
}
/// Whether a run that starts then meets it.
bool meets(const gpu::outage& o, instant at, const gpu::run_estimate& run) {
  const bool is_bound = run.before_outages && run.is_known();
  const instant end = is_bound ? at + run.span : at + 1;
  return o.from < o.to && o.from < end && o.to > at;
}

}  // namespace

TEST_CASE(
    "outages: who would not have ended is placed elsewhere or not at all, and shorter jobs fill the time") {
  gpu::inventory in{allot_test::equal_nodes(2, 8)};
  in.expect_outages({{node_id{0}, 100, 200}});
  in.set_now(0);
  CHECK(first_node(in, *in.place(job_of(4, 100))) == node_id{0});
  const auto longer = in.place(job_of(8, 101));
  REQUIRE(longer);
  CHECK(first_node(in, *longer) == node_id{1});
  CHECK_FALSE(in.could_place(job_of(1, 101)));
  CHECK_FALSE(in.place(job_of(1, 101)));
  CHECK(in.why_not(job_of(1, 101)).reason == obstacle::outage);
  CHECK(in.obstacle_to(job_of(1, 101)) == obstacle::outage);
  CHECK(to_string(in.why_not(job_of(1, 101))) ==
        "there is room for it, but on nodes that go down before it would have ended");
  CHECK(in.why_not(job_of(8, 101)).reason == obstacle::full);
  CHECK(in.could_ever_fit(job_of(8, 1000)));

  // Of these it is not known when they end, or nobody asks.
  pod_request unknown = job_of(1, 0);
  CHECK(in.could_place(unknown));
  unknown.estimate = {500, false};
  CHECK(in.could_place(unknown));

  // As time goes on, less fits before it.
  in.set_now(60);
  CHECK(in.could_place(job_of(4, 40)));
  CHECK_FALSE(in.could_place(job_of(4, 41)));
  in.set_now(200);
  CHECK(in.could_place(job_of(4, 1000)));
  CHECK(in.next_change(0) == 100);
  CHECK(in.next_change(100) == 200);
  CHECK(in.next_change(200) == without_end);
}

TEST_CASE("outages: as of a time to come, nodes are out or back, and a rollback forgets it") {
  gpu::inventory in{allot_test::equal_nodes(2, 8)};
  in.set_now(10);
  in.expect_outages({{node_id{0}, 5, 50}, {node_id{1}, 30, 60}});
  in.close(node_id{0});
  const gpu::inventory before = in;
  const auto seen = [&](instant at) {
    const auto save = in.save();
    in.look_ahead(at);
    std::string text;
    for (const instant span : {instant{1}, instant{25}}) {
      const auto where = in.place(job_of(8, span));
      text += where ? std::to_string(first_node(in, *where).index()) : "-";
    }
    in.rollback(save);
    in.look_ahead(10);
    return text;
  };
  CHECK(seen(10) == "1-");
  CHECK(seen(30) == "--");
  CHECK(seen(50) == "0-");
  CHECK(seen(60) == "01");
  CHECK(in == before);
  CHECK(in.is_closed(node_id{0}));
}

TEST_CASE("outages: a place is usable for as long as its job would end in time") {
  gpu::inventory in{allot_test::equal_nodes(2, 8)};
  in.set_now(0);
  const auto at = in.place(job_of(8, 50));
  REQUIRE(at);
  CHECK(in.usable(*at, job_of(8, 50)));
  in.expect_outages({{first_node(in, *at), 40, 60}});
  CHECK_FALSE(in.usable(*at, job_of(8, 50)));
  CHECK(in.usable(*at, job_of(8, 40)));
  CHECK(in.usable(*at));
  // Room is not counted meanwhile, as it depends on the time.
  gpu::room_counter room;
  CHECK_FALSE(room.begin(in, job_of(8, 10)));
  in.expect_outages({});
  CHECK(room.begin(in, job_of(8, 10)));
}

TEST_CASE("outages: a clock that is set moves them") {
  gpu::inventory in{allot_test::equal_nodes(1, 8)};
  in.set_now(0);
  in.expect_outages({{node_id{0}, 100, without_end}});
  in.rebase(1000);
  CHECK(in.next_change(0) == 1100);
  CHECK(in.could_place(job_of(8, 100)));
  CHECK_FALSE(in.could_place(job_of(8, 101)));
  CHECK_THROWS([&] {
    const auto save = in.save();
    in.expect_outages({});
    in.rollback(save);
  }());
}

TEST_CASE("outages: what is placed is what would be if the nodes that it meets were closed") {
  allot_test::for_each_seed(2000, [](random_source& random) {
    const auto made = allot_test::random_labelled_cluster(random, 6, false);
    const bool has_levels = !made.levels.empty();
    gpu::topology_inventory in =
        has_levels
            ? gpu::topology_inventory{made.nodes, gpu::topology_from_labels(made.nodes, made.levels).value()}
            : gpu::topology_inventory{made.nodes};
    const std::size_t nodes = made.nodes.size();
    std::vector<allocation_id> placed;
    allot::vector<gpu::outage> known;
    for (int step = 0; step < 20; ++step) {
      const instant now = step;
      in.set_now(now);
      if (random.one_in(3)) in.expect_outages(known = random_outages(random, nodes));
      if (random.one_in(8)) in.close(node_id{random.below(nodes)});
      if (random.one_in(8)) in.reopen(node_id{random.below(nodes)});
      if (!placed.empty() && random.one_in(3)) {
        in.release(placed.back());
        placed.pop_back();
      }
      pod_request r = job_of(random.between(1, 8), random.between(0, 12));
      r.estimate.before_outages = !random.one_in(4);
      r.pods = static_cast<std::uint32_t>(random.between(1, 3));
      if (has_levels && random.one_in(2)) r.required_level = 0;
      std::vector<gpu::pod_set> unlike(2);
      if (random.one_in(3)) {
        for (gpu::pod_set& s : unlike) s.each.gpus = gpus(random.between(1, 8));
        r.sets = {unlike.data(), 2};
        r.pods = 2;
      }

      const gpu::topology_inventory before = in;
      gpu::topology_inventory other = in;
      other.expect_outages({});
      for (const gpu::outage& o : known) {
        if (meets(o, now, r.estimate)) other.close(o.node);
      }
      const bool could = in.could_place(r);
      REQUIRE(in == before);
      const obstacle why = in.why_not(r).reason;
      const auto at = in.place(r);
      const auto there = other.place(r);
      REQUIRE(at.has_value() == there.has_value());
      REQUIRE(could == at.has_value());
      REQUIRE((why == obstacle::none) == at.has_value());
      if (!at) {
        REQUIRE(in == before);
        continue;
      }
      placed.push_back(*at);
      REQUIRE(in.usable(*at, r));
      auto other_pod = other.pods(*there).begin();
      for (const gpu::placed_pod& p : in.pods(*at)) REQUIRE(p == *other_pod++);
      for (const gpu::outage& o : known) {
        for (const gpu::placed_pod& p : in.pods(*at))
          REQUIRE_FALSE((p.where.node == o.node && meets(o, now, r.estimate)));
      }
    }
  });
}
