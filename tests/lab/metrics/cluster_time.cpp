// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/cluster_time.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::wide;
using allot::lab::cluster_time;
using allot::lab::run_figures;

namespace {

const allot::per_dimension<bool, 1> counted{true};

run_figures told(const cluster_time& c) {
  run_figures f;
  c.tell(f);
  return f;
}
run_figures told_now(cluster_time& c) {
  c.mark();
  return told(c);
}

}  // namespace

TEST_CASE("cluster_time: integrals of a cluster, up to a mark or up to now") {
  const allot::ledger<1> accounts{allot::build_quota_tree(siblings({8})).value()};
  allot::sim::places where = nodes(2, 4);
  cluster_time c;
  c.look(where, accounts, counted);
  CHECK(c.capacity() == gpus(8));
  c.pass(10, 0, false);
  allot::gpu::pod_request one;
  one.gpus = gpus(1);
  CHECK(where.place(one));
  c.look(where, accounts, counted);
  c.pass(10, 1'000, true);
  c.mark();
  c.pass(5, 1'000, true);
  const run_figures f = told(c);
  CHECK(f.capacity == wide{8'000} * 20);
  CHECK(f.idle == wide{8'000} * 10 + wide{7'000} * 10);
  CHECK(f.stranded == wide{3'000} * 10);
  CHECK(f.idle_while_unplaceable == wide{7'000} * 10);
  CHECK(f.largest_gang == wide{8} * 10 + wide{7} * 10);
  CHECK(f.smallest_largest_gang == std::optional<std::int64_t>{7});
  CHECK(told_now(c).capacity == wide{8'000} * 25);
  CHECK(told_now(c).idle_while_unplaceable == wide{7'000} * 15);
}

TEST_CASE("cluster_time: without nodes the roots have the capacity, or it has no bound") {
  const allot::ledger<1> accounts{allot::build_quota_tree(siblings({3, 5})).value()};
  cluster_time c;
  c.look(allot::sim::places{}, accounts, counted);
  c.pass(2, 1'000, false);
  CHECK(c.capacity() == gpus(8));
  const run_figures f = told_now(c);
  CHECK(f.idle == wide{7'000} * 2);
  CHECK(f.capacity_is_bounded);
  CHECK_FALSE(f.smallest_largest_gang);
  auto specs = siblings({3});
  specs[0].nominal = allot::resources<1>{allot::quantity::unlimited()};
  c.look(allot::sim::places{}, allot::ledger<1>{allot::build_quota_tree(specs).value()}, counted);
  c.pass(2, 1'000, false);
  CHECK_FALSE(told_now(c).capacity_is_bounded);
}

TEST_CASE(
    "cluster_time: what of it the typical pods could not use, and how much of each model and pool was used") {
  const allot::ledger<1> accounts{allot::build_quota_tree(siblings({8})).value()};
  std::vector<allot::gpu::node_spec> specs(2);
  specs[0].name = "x";
  specs[0].gpus = 4;
  specs[0].gpu_model = "X";
  specs[1].name = "y";
  specs[1].gpus = 2;
  specs[1].gpu_model = "Y";
  // And one more of the first model, in the pool of the other.
  specs[1].pool = "p";
  specs.push_back(specs[0]);
  specs[2].name = "z";
  specs[2].gpus = 1;
  specs[2].pool = "p";
  allot::sim::places where{allot::gpu::build_cluster(specs).value()};
  // All jobs are pods of 4 GPUs: free GPUs of a node with fewer than 4 are a fragment, and so is all of the
  // small one.
  const std::vector<allot::sim::job<1>> jobs = {job_of(a, 4, 0, 10), job_of(a, 4, 0, 10)};
  cluster_time c;
  c.begin<1>(where, {.jobs = jobs});
  c.look(where, accounts, counted);
  c.pass(10, 0, false);
  allot::gpu::pod_request one;
  one.gpus = gpus(1);
  one.models = 1;
  one.pools = 1;
  CHECK(where.place(one));
  c.look(where, accounts, counted);
  c.pass(5, 1'000, false);
  const run_figures f = told_now(c);
  REQUIRE(f.fragments);
  CHECK(*f.fragments == wide{3'000} * 10 + wide{3'000 + 3'000} * 5);
  REQUIRE(f.models.size() == 2);
  CHECK(f.models[0] == allot::lab::part_figures{wide{5'000} * 15, wide{1'000} * 5});
  CHECK(f.models[1] == allot::lab::part_figures{wide{2'000} * 15, 0});
  REQUIRE(f.pools.size() == 2);
  CHECK(f.pools[0] == allot::lab::part_figures{wide{4'000} * 15, wide{1'000} * 5});
  CHECK(f.pools[1] == allot::lab::part_figures{wide{3'000} * 15, 0});
  // Closed nodes are not counted.
  where.inventory().close(allot::gpu::node_id{2});
  c.look(where, accounts, counted);
  c.pass(1, 1'000, false);
  CHECK(told_now(c).pools[1] == allot::lab::part_figures{wide{3'000} * 15 + wide{2'000}, 0});
}
