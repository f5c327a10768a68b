// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/any_placement.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/inventory.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <vector>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::any_placement;
using gpu::placement_name;

TEST_CASE("any_placement: every name selects its policy") {
  for (std::size_t i = 0; i < gpu::placement_names.size(); ++i) {
    const auto name = static_cast<placement_name>(i);
    CHECK(any_placement{name, gpu::cluster{}}.name() == name);
  }
  CHECK(any_placement{}.name() == placement_name::best);
  CHECK(any_placement{gpu::first_fit{}}.name() == std::nullopt);
}

TEST_CASE("any_placement: chooses like the policy itself") {
  allot_test::for_each_seed(20, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const gpu::cluster& layout = world.index.layout();
    const gpu::typical_pods typical{
        {{allot_test::random_shape(random), 3}, {allot_test::random_shape(random), 1}}};
    const auto check_as = [&](const any_placement& any, const auto& policy) {
      for (int i = 0; i < 20; ++i) {
        world.change(random, any);
        const gpu::pod_shape pod = allot_test::random_shape(random);
        REQUIRE(any(world.index, pod) == policy(world.index, pod));
        REQUIRE(any_placement{any}(world.index, pod) == policy(world.index, pod));
      }
    };
    const auto check = [&](placement_name name, const auto& policy) {
      check_as(any_placement{name, layout, typical, 7}, policy);
    };
    check(placement_name::best, gpu::best_fit{});
    check(placement_name::worst, gpu::worst_fit{});
    check(placement_name::first, gpu::first_fit{});
    check(placement_name::random, gpu::random_fit{7});
    check(placement_name::packing, gpu::gpu_packing{});
    check(placement_name::clustering, gpu::gpu_clustering{});
    check(placement_name::dot, gpu::dot_product{});
    check(placement_name::vector_best, gpu::vector_best_fit{});
    check(placement_name::fgd, gpu::fragmentation_gradient{gpu::gradient_score{layout, typical}});
    const auto on_last_node = [](const gpu::free_index& from, const gpu::pod_shape& pod) {
      std::optional<gpu::pod_location> last;
      for (std::size_t n = 0; n < from.layout().size(); ++n) {
        const gpu::node_id node{n};
        const auto here = from.layout().type_of(node).shape_on(pod);
        if (!here || from.is_closed(node) || !from.has_room(node, *here)) continue;
        last = gpu::pod_location{node, from.choose_devices(node, pod).value()};
      }
      return last;
    };
    check_as(any_placement{on_last_node}, on_last_node);
  });
}
