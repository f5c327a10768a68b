// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/typical_pods.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using gpu::pod_shape;
using gpu::seen_pods;
using gpu::typical_pod;
using gpu::typical_pods;

TEST_CASE("typical_pods: each shape once, without host memory") {
  CHECK(typical_pods{}.empty());
  CHECK(typical_pods{}.weight() == 0);
  const pod_shape small{1, 500, gpu::all_pools, gpu::all_models, 1000, 4096};
  pod_shape without = small;
  without.memory_mib = 0;
  const typical_pods pods{{{small, 3}, {{2}, 5}, {without, 4}}};
  CHECK(pods.weight() == 12);
  CHECK(pods.pods() == std::vector<typical_pod>{{without, 7}, {{2}, 5}});
}

TEST_CASE("typical_pods: the most frequent ones, down to the one that reaches the percentage") {
  const typical_pods all{{{{1}, 50}, {{2}, 30}, {{4}, 15}, {{8}, 5}}};
  CHECK(all.most_frequent(100) == all);
  CHECK(all.most_frequent(96) == all);
  CHECK(all.most_frequent(95) == typical_pods{{{{1}, 50}, {{2}, 30}, {{4}, 15}}});
  CHECK(all.most_frequent(50) == typical_pods{{{{1}, 50}}});
  CHECK(all.most_frequent(0).empty());
  CHECK(typical_pods{}.most_frequent(95).empty());
}

TEST_CASE("typical_pods: of equally frequent ones more CPU, more of a device, more devices") {
  const pod_shape cpu{1, 500, gpu::all_pools, gpu::all_models, 8000};
  const pod_shape whole{1, 1000, gpu::all_pools, gpu::all_models, 1000};
  const pod_shape two{2, 1000, gpu::all_pools, gpu::all_models, 1000};
  const pod_shape part{1, 900, gpu::all_pools, gpu::all_models, 1000};
  const typical_pods all{{{part, 1}, {whole, 1}, {cpu, 1}, {two, 1}}};
  CHECK(all.most_frequent(25) == typical_pods{{{cpu, 1}}});
  CHECK(all.most_frequent(50) == typical_pods{{{cpu, 1}, {two, 1}}});
  CHECK(all.most_frequent(75) == typical_pods{{{cpu, 1}, {two, 1}, {whole, 1}}});
}

TEST_CASE("seen_pods: counts what comes") {
  seen_pods seen;
  CHECK(seen.typical().empty());
  for (int i = 0; i < 60; ++i) seen.learn({1});
  seen.learn({2}, 38);
  seen.learn({8}, 2);
  seen.learn({4}, 0);
  CHECK(seen.weight() == 100);
  CHECK(seen.typical() == typical_pods{{{{1}, 60}, {{2}, 38}}});
  CHECK(seen.typical(100).pods().size() == 3);
}

TEST_CASE("seen_pods: with ever new shapes only the rare ones are dropped") {
  const auto shape = [](std::int64_t i) { return pod_shape{1, 500, gpu::all_pools, gpu::all_models, i}; };
  seen_pods seen{100};
  for (std::int64_t i = 0; i < 10'000; ++i) {
    seen.learn(shape(1 + i));
    seen.learn({1});
    if (i % 10 == 0) seen.learn({2});
    CHECK(seen.size() <= 100);
  }
  const typical_pods typical = seen.typical(95);
  CHECK(typical.pods().size() == 2);
  CHECK(typical == typical_pods{{{{1}, 10'000}, {{2}, 1000}}});
  CHECK(seen.weight() >= 11'000);
  CHECK(seen.weight() < 11'100);

  // Up to the limit no shape is dropped.
  seen_pods few{100};
  for (std::int64_t i = 0; i < 100; ++i) few.learn(shape(1 + i), 1 + i % 3);
  CHECK(few.size() == 100);
  CHECK(few.typical(100).pods().size() == 100);
  // One more shape, and the less frequent half is dropped.
  few.learn(shape(1000));
  CHECK(few.size() == 51);
  const typical_pods left = few.typical(100);
  CHECK(few.weight() == left.weight());
  for (const typical_pod& p : left.pods()) CHECK((p.weight > 1 || p.pod == shape(1000)));
}

TEST_CASE("seen_pods: old counts fade") {
  seen_pods seen;
  seen.learn({1}, gpu::most_pods_counted / 2);
  seen.learn({2}, 1);
  seen.learn({4}, gpu::most_pods_counted);
  CHECK(seen.weight() <= gpu::most_pods_counted);
  CHECK(seen.typical(100) ==
        typical_pods{{{{1}, gpu::most_pods_counted / 4}, {{4}, gpu::most_pods_counted / 2}}});
}

TEST_CASE("seen_pods: shapes that differ in their estimates alone are of one kind in a workload") {
  pod_shape brief{1};
  brief.estimate.span = 5;
  pod_shape lasting{1};
  lasting.estimate.span = 700;
  gpu::seen_pods seen;
  seen.learn(brief);
  seen.learn(lasting, 2);
  CHECK(seen.size() == 1);
  const gpu::typical_pods both{{{brief, 1}, {lasting, 2}}};
  REQUIRE(both.pods().size() == 1);
  CHECK(both.pods().front().weight == 3);
}
