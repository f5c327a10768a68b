// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/scored_placement.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/dot_product.hpp>
#include <allot/gpu/placement/first_fit.hpp>
#include <allot/gpu/placement/fragmentation_gradient.hpp>
#include <allot/gpu/placement/gpu_clustering.hpp>
#include <allot/gpu/placement/gpu_packing.hpp>
#include <allot/gpu/placement/vector_best_fit.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::free_index;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;

namespace {

/// The rule, computed for every node.
template <class Score>
std::optional<pod_location> by_scan(const Score& score, const free_index& index, const pod_shape& pod) {
  std::optional<node_id> best;
  for (std::size_t i = 0; i < index.layout().size(); ++i) {
    const node_id n{i};
    const auto here = index.layout().type_of(n).shape_on(pod);
    if (!here || index.is_closed(n) || !index.has_room(n, *here)) continue;
    if (!best || score(index, n, *here) > score(index, *best, *index.layout().type_of(*best).shape_on(pod)))
      best = n;
  }
  if (!best) return std::nullopt;
  return pod_location{
      *best, gpu::detail::devices_by(score, index, *best, *index.layout().type_of(*best).shape_on(pod))};
}

gpu::typical_pods some_pods(random_source& random) {
  std::vector<gpu::typical_pod> pods(random.below(12));
  for (gpu::typical_pod& p : pods) p = {allot_test::random_shape(random), random.between(1, 100)};
  return gpu::typical_pods{pods};
}

/// `make(layout)`: the score for this cluster.
template <class Make>
void check_against_scan(Make make) {
  allot_test::for_each_seed(25, [&](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const auto score = make(world.index.layout(), random);
    using placement = gpu::scored_placement<std::remove_const_t<decltype(score)>>;
    // Also with fewer slots than shapes, so that some are dropped and added again.
    const placement policy{score, random.one_in(2) ? 3 : gpu::shapes_remembered};
    for (int i = 0; i < 150; ++i) {
      world.change(random, policy);
      const pod_shape pod = allot_test::random_shape(random);
      const auto where = policy(world.index, pod);
      REQUIRE(where == by_scan(score, world.index, pod));
      if (where) REQUIRE(world.index.fits(*where, pod));
    }
  });
}

}  // namespace

TEST_CASE("scored_placement: every policy agrees with a scan over all nodes") {
  const auto plain = [](auto score) {
    return [score](const gpu::cluster&, random_source&) { return score; };
  };
  SUBCASE("most_free") {
    check_against_scan(plain(gpu::most_free{}));
  }
  SUBCASE("all_alike") {
    check_against_scan(plain(gpu::all_alike{}));
  }
  SUBCASE("packing_score") {
    check_against_scan(plain(gpu::packing_score{}));
  }
  SUBCASE("clustering_score") {
    check_against_scan(plain(gpu::clustering_score{}));
  }
  SUBCASE("dot_product_score") {
    check_against_scan(plain(gpu::dot_product_score{}));
  }
  SUBCASE("vector_best_fit_score") {
    check_against_scan(plain(gpu::vector_best_fit_score{}));
  }
  SUBCASE("gradient_score") {
    check_against_scan([](const gpu::cluster& layout, random_source& random) {
      return gpu::gradient_score{layout, some_pods(random)};
    });
  }
}

TEST_CASE("scored_placement: several clusters in turn, copies of them, and one in the place of another") {
  allot_test::for_each_seed(25, [](random_source& random) {
    const gpu::cluster layout = allot_test::random_hosts(random);
    std::vector<allot_test::living_cluster> worlds(3, allot_test::living_cluster{layout});
    const gpu::gpu_packing policy;
    for (int i = 0; i < 200; ++i) {
      allot_test::living_cluster& world = random.pick(worlds);
      world.change(random, policy);
      if (random.one_in(10)) world = random.pick(worlds);
      if (random.one_in(10)) world = allot_test::living_cluster{layout};
      const gpu::gpu_packing copy{policy};
      const pod_shape pod = allot_test::random_shape(random);
      for (const auto& w : worlds) {
        REQUIRE(policy(w.index, pod) == by_scan(policy.score(), w.index, pod));
        REQUIRE(copy(w.index, pod) == by_scan(policy.score(), w.index, pod));
      }
    }
  });
}

TEST_CASE("scored_placement: a rollback invalidates what was kept") {
  allot_test::for_each_seed(25, [](random_source& random) {
    gpu::basic_inventory<gpu::worst_fit> inventory{allot_test::random_hosts(random)};
    std::vector<gpu::allocation_id> placed;
    const auto check = [&] {
      const pod_shape pod = allot_test::random_shape(random);
      REQUIRE(gpu::worst_fit{}(inventory.index(), pod) == by_scan(gpu::most_free{}, inventory.index(), pod));
    };
    const auto step = [&] {
      gpu::pod_request d;
      d.gpus = random.one_in(2) ? allot::gpus(random.between(1, 4)) : allot::quantity::milli(500);
      d.pods = static_cast<std::uint32_t>(1 + random.below(3));
      d.cpu_milli = 1000 * random.between(0, 3);
      if (const auto a = inventory.place(d)) placed.push_back(*a);
      if (random.one_in(4)) inventory.close(node_id{random.below(inventory.layout().size())});
      check();
    };
    for (int i = 0; i < 20; ++i) {
      const auto before = inventory.save();
      const std::size_t count = placed.size();
      for (int k = 0; k < 4; ++k) step();
      if (random.one_in(2)) {
        inventory.rollback(before);
        placed.resize(count);
      } else {
        inventory.commit(before);
      }
      check();
    }
  });
}

TEST_CASE("scored_placement: a new score takes effect at once") {
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 4}}).value();
  free_index index{layout};
  index.occupy({{node_id{1}, 0b1}, 500});
  gpu::fragmentation_gradient policy;
  // Nothing is typical, so nothing is a fragment and all nodes are equal.
  CHECK(policy(index, {1, 500}) == pod_location{node_id{0}, 0b1});
  policy.set_score({layout, gpu::typical_pods{{{{1, 1000}, 1}}}});
  CHECK(policy(index, {1, 500}) == pod_location{node_id{1}, 0b1});
}

TEST_CASE("scored_placement: allocates for new shapes only") {
  const auto check = [&](const auto& policy) {
    allot_test::living_cluster world{
        gpu::build_cluster({{.name = "n", .count = 50, .gpus = 8, .cpu_milli = 64'000}}).value()};
    const pod_shape shapes[] = {{1}, {1, 500}, {4}, {1, 250, gpu::all_pools, gpu::all_models, 3000}};
    const auto fill = [&] {
      for (int i = 0; i < 100; ++i) {
        for (const pod_shape& s : shapes) {
          if (const auto where = policy(world.index, s)) world.index.occupy(world.index.placed(*where, s));
        }
      }
    };
    for (const pod_shape& s : shapes) static_cast<void>(policy(world.index, s));
    CHECK(allot_test::allocations_in(fill) == 0);
  };
  check(gpu::worst_fit{});
  check(gpu::gpu_clustering{});
  check(gpu::vector_best_fit{});
  // One shape replaces another.
  check(gpu::gpu_packing{{}, 2});
}
