// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/own_policy.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/lab/named_policy.hpp>
#include <tests/lab/own_presets.hpp>

#include <string>
#include <vector>

namespace lab = allot::lab;
namespace gpu = allot::gpu;
using allot_test::spreading;

TEST_CASE("own_policy: describes a preset as the preset does itself") {
  const lab::own_policy own = lab::own_policy_of<spreading>();
  CHECK(own.name == "spreading");
  CHECK(own.summary == spreading::summary);
  CHECK_FALSE(own.ignores_quotas);
  CHECK(own.takes_parts);
  CHECK(own.defaults(false).preempt.reclaim == allot::preempt_reclaim::any);
  CHECK(own.defaults(false).head == allot::queue_head::by_preset);
  CHECK(own.defaults(true).head == allot::queue_head::reserve);
  CHECK(own.judges_rivals() == false);
  CHECK(own.one.make(false).why_none().empty());
  CHECK(own.many.make(true).not_preemptible == allot::capacity_kind::guaranteed);
  std::vector<allot::quota_spec<1>> specs{{.name = "a"}};
  own.one.adapt(specs);
  CHECK(specs[0].name == "a and more");
  CHECK(lab::own_policy_of<allot::fifo>().ignores_quotas);
  CHECK((lab::own_policy_of<allot::standard>().placement == nullptr));
}

TEST_CASE("own_policy: its placement is made for the cluster") {
  const auto layout = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value();
  const gpu::any_placement chosen = lab::own_policy_of<spreading>().placement(layout, {});
  CHECK(chosen.name() == std::nullopt);
  gpu::basic_inventory<gpu::any_placement> nodes{layout, chosen};
  for (int i = 0; i < 2; ++i) REQUIRE(nodes.place({.gpus = allot::gpus(1)}));
  CHECK(nodes.free() == allot::gpus(14));
  CHECK(nodes.index().free_devices(gpu::node_id{0}) == nodes.index().free_devices(gpu::node_id{1}));
}

TEST_CASE("own_policy: a name is that of one policy") {
  CHECK(lab::add_policy(lab::own_policy_of<allot::standard>()) == "there is already a policy \"standard\"");
  lab::own_policy own = lab::own_policy_of<spreading>();
  for (const char* bad : {"", "Mine", "a b", "a/b"}) {
    own.name = bad;
    CHECK(lab::add_policy(own) == "a policy can't be named \"" + std::string{bad} +
                                      "\": expected lower-case letters, digits and underscores");
  }
  CHECK_FALSE(lab::named_policy::find("Mine"));
}
