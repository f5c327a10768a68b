// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/lab/metrics/cluster_moment.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::gpu::inventory;
using allot::gpu::node_id;
using allot::gpu::node_spec;
using allot::gpu::pod_request;
using allot::lab::fragmented_gpus;
using allot::lab::largest_gang;
using allot_test::random_source;

namespace {

pod_request total(std::int64_t n) {
  pod_request d;
  d.gpus = gpus(n);
  d.total = true;
  return d;
}
pod_request pod(allot::quantity size) {
  pod_request d;
  d.gpus = size;
  return d;
}
inventory nodes_of(const std::vector<std::int64_t>& sizes) {
  std::vector<node_spec> specs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    node_spec& s = specs.emplace_back();
    s.name = "n" + std::to_string(i);
    s.gpus = sizes[i];
  }
  return inventory{allot::gpu::build_cluster(std::move(specs)).value()};
}

}  // namespace

TEST_CASE("cluster_moment: by hand") {
  inventory i = nodes_of({8, 8, 8, 4});
  CHECK(fragmented_gpus(i.index()) == 0);
  CHECK(largest_gang(i.index()) == 28);
  // 5 of one node: two are whole, and 4 of the small one are more than 3.
  CHECK(i.place(pod(gpus(5))));
  CHECK(fragmented_gpus(i.index()) == 3'000);
  CHECK(largest_gang(i.index()) == 20);
  // Half a GPU beside them: the rest of that device counts as free, but no gang can use it.
  CHECK(i.place(pod(allot::quantity::milli(500))));
  CHECK(fragmented_gpus(i.index()) == 2'500);
  CHECK(i.place(pod(gpus(8))));
  i.close(node_id{1});
  i.close(node_id{2});
  CHECK(largest_gang(i.index()) == 4);
  i.reopen(node_id{1});
  i.reopen(node_id{2});
  CHECK(largest_gang(i.index()) == 12);
}

TEST_CASE("cluster_moment: nodes without GPUs hold no gang") {
  const inventory some = nodes_of({0, 2, 0});
  CHECK(largest_gang(some.index()) == 2);
  CHECK(fragmented_gpus(some.index()) == 0);
  CHECK(largest_gang(nodes_of({0}).index()) == 0);
}

TEST_CASE("cluster_moment: the largest gang has a place, and one of a GPU more has none") {
  allot_test::for_each_seed(200, [](random_source& random) {
    std::vector<std::int64_t> sizes(1 + random.below(8));
    for (std::int64_t& s : sizes) s = random.one_in(2) ? 8 : random.between(1, 8);
    inventory i = nodes_of(sizes);
    for (std::size_t n = random.below(12); n > 0; --n) {
      static_cast<void>(i.place(random.one_in(3) ? pod(allot::quantity::milli(random.between(1, 9) * 100))
                                                 : pod(gpus(random.between(1, 8)))));
      if (random.one_in(8)) i.close(node_id{random.below(sizes.size())});
    }
    const std::int64_t most = largest_gang(i.index());
    const auto fits = [&](std::int64_t size) {
      const allot::savepoint before = i.save();
      const bool placed = i.place(total(size)).has_value();
      i.rollback(before);
      return placed;
    };
    if (most > 0) CHECK(fits(most));
    CHECK_FALSE(fits(most + 1));
    // And the fragmented amount is the one found by a look at every node.
    std::int64_t partly = 0;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const node_id node{n};
      if (i.is_closed(node)) continue;
      const std::int64_t used = i.index().used(node).in_milli();
      if (used > 0) partly += sizes[n] * 1'000 - used;
    }
    CHECK(fragmented_gpus(i.index()) == partly);
  });
}

TEST_CASE("cluster_moment: the pods that are typical of a workload") {
  const inventory i = nodes_of({8, 8});
  using allot::sim::job;
  std::vector<job<1>> jobs(3);
  // A total of 20 is two whole nodes and 4 of one more; a gang is its pods; what can't be placed is none.
  jobs[0].pod_request = total(20);
  jobs[1].pod_request = pod(gpus(1));
  jobs[1].pod_request.pods = 7;
  jobs[2].pod_request = pod(allot::quantity::milli(1'500));
  const auto typical = allot::lab::typical_pods_of<1>(i.layout(), {.jobs = jobs});
  REQUIRE(typical.pods().size() == 3);
  CHECK(typical.weight() == 2 + 1 + 7);
  // Of a job whose pods differ, those of each set.
  std::vector<allot::sim::unlike_pods<1>> unlike(1);
  unlike[0].sets = {{.each = pod(gpus(1)), .pods = 2}, {.each = pod(gpus(4)), .pods = 3}};
  unlike[0].shares.resize(2);
  jobs[2].unlike = 1;
  const auto with_sets = allot::lab::typical_pods_of<1>(i.layout(), {.jobs = jobs, .unlike = unlike});
  CHECK(with_sets.weight() == 2 + 1 + 7 + 2 + 3);
}
