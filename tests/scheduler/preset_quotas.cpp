// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/detail/preset_quotas.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using allot::gpus;
using allot::problem_code;
using allot::quota_id;

namespace {

using quotas = allot::detail::preset_quotas<1>;
using specs = std::vector<allot::quota_spec<1>>;
using changes = std::vector<allot::quota_change<1>>;

/// A preset in which a quota owns one more unit for each quota.
void one_more_each(specs& all) {
  for (auto& s : all) s.nominal[0] += gpus(static_cast<int>(all.size()));
}

specs two() {
  return {{.name = "a", .nominal = gpus(1)}, {.name = "b", .nominal = gpus(2)}};
}

}  // namespace

TEST_CASE(
    "preset_quotas: a preset makes its tree of all quotas that there are, each time of the given ones") {
  quotas q{{.adapt = one_more_each}};
  auto tree = q.begin(two(), false).value();
  CHECK(tree.spec(quota_id{0}).nominal[0] == gpus(3));
  tree = q.changed(tree, changes{allot::add_quota<1>{{.name = "c"}}}, {}).value();
  CHECK(tree.spec(quota_id{0}).nominal[0] == gpus(4));
  CHECK(tree.spec(quota_id{2}).nominal[0] == gpus(3));
  tree = q.changed(tree,
                   changes{allot::resize_quota<1>{quota_id{0}, allot::resources<1>{gpus(5)}},
                           allot::remove_quota{quota_id{1}}},
                   {})
             .value();
  CHECK(tree.spec(quota_id{0}).nominal[0] == gpus(7));
  CHECK_FALSE(tree.contains(quota_id{1}));
}

TEST_CASE("preset_quotas: what is refused leaves the given quotas as they were") {
  quotas q{{.adapt = one_more_each}};
  const auto tree = q.begin(two(), false).value();
  const auto wrong = q.changed(tree, changes{allot::add_quota<1>{{.name = "a"}}, allot::remove_quota{}},
                               {{problem_code::in_use, "b", {}, "b still has jobs"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.problems().size() == 3);
  CHECK(wrong.problems().front().code == problem_code::in_use);
  CHECK(q.changed(tree, {}, {}).value() == tree);
}

TEST_CASE("preset_quotas: of changed amounts only what differs is told, also after a removal") {
  quotas q{{.adapt = one_more_each}};
  auto three = two();
  three.push_back({.name = "c"});
  auto tree = q.begin(three, false).value();
  tree = q.changed(tree, changes{allot::remove_quota{quota_id{0}}}, {}).value();
  const changes larger{allot::resize_quota<1>{quota_id{1}, allot::resources<1>{gpus(7)}}};
  for (int twice = 0; twice < 2; ++twice) {
    const auto told = q.respecified(tree, larger);
    REQUIRE(told.has_value());
    REQUIRE(told->size() == 1);
    CHECK(told->front().quota == quota_id{1});
    CHECK(told->front().spec.nominal[0] == gpus(9));
    q.undo();
  }
  CHECK(q.respecified(tree, {}).value().empty());
  CHECK_FALSE(q.respecified(tree, changes{allot::remove_quota{quota_id{1}}}));
  CHECK_FALSE(q.respecified(tree, changes{allot::resize_quota<1>{quota_id{0}}}));
  CHECK(q.changed(tree, {}, {}).value() == tree);
}

TEST_CASE("preset_quotas: a preset that names a quota by its amounts makes a new tree") {
  quotas q{{.adapt = [](specs& all) {
    for (auto& s : all) s.name += std::to_string(s.nominal[0].in_milli() / 1000);
  }}};
  const auto tree = q.begin(two(), false).value();
  const changes larger{allot::resize_quota<1>{quota_id{1}, allot::resources<1>{gpus(7)}}};
  CHECK_FALSE(q.respecified(tree, larger));
  CHECK(q.changed(tree, larger, {}).value().find("b7") == quota_id{1});
  CHECK(q.changed(tree, {}, {}).value().find("b7") == quota_id{1});
}

TEST_CASE("preset_quotas: without a preset the tree is the host's") {
  quotas q;
  const auto tree = q.begin(two(), false).value();
  CHECK(tree.spec(quota_id{1}).nominal[0] == gpus(2));
  const auto next = q.changed(tree, changes{allot::remove_quota{quota_id{0}}}, {}).value();
  CHECK_FALSE(next.contains(quota_id{0}));
}

TEST_CASE("preset_quotas: if quotas are ignored there is one, with the sum of all or unlimited") {
  quotas q{{.ignores_quotas = true, .adapt = one_more_each}};
  auto tree = q.begin(two(), false).value();
  CHECK(tree.slots() == 1);
  CHECK(tree.spec(quota_id{0}).nominal[0] == gpus(3));
  tree = q.begin(two(), true).value();
  CHECK(tree.spec(quota_id{0}).nominal[0].is_unlimited());
  CHECK_FALSE(q.begin({{.name = ""}}, true));
}
