// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/mig/mig.hpp>
#include <allot/gpu/mig/mig_request.hpp>

#include <doctest/doctest.h>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_test::random_source;
using gpu::allocation_id;
using gpu::inventory;
using gpu::node_id;
using gpu::obstacle;

namespace {

gpu::node_spec mig_nodes(std::string name, std::int64_t count, std::int64_t per_node,
                         std::string model = "A100-SXM4-40GB", std::int64_t memory = 40960) {
  gpu::node_spec s;
  s.name = std::move(name);
  s.count = count;
  s.gpus = per_node;
  s.gpu_model = std::move(model);
  s.gpu_memory_mib = memory;
  s.mig = true;
  return s;
}

inventory of(std::vector<gpu::node_spec> specs) {
  return inventory{gpu::build_cluster(std::move(specs)).value()};
}

gpu::pod_request instances(std::string_view profile, std::uint32_t pods = 1) {
  gpu::pod_request d;
  d.mig = gpu::find_mig_request(profile).value();
  d.pods = pods;
  return d;
}

}  // namespace

TEST_CASE("mig: seven of the smallest instances fit on one device, the eighth goes to the next") {
  inventory in = of({mig_nodes("n", 1, 2)});
  std::vector<allocation_id> all;
  for (int i = 0; i < 8; ++i) {
    const auto a = in.place(instances("1g.5gb"));
    REQUIRE(a);
    all.push_back(*a);
    CHECK(in.pods(*a).begin()->where.devices == (i < 7 ? 0b01U : 0b10U));
    CHECK(in.pods(*a).begin()->milli == 125);
  }
  CHECK(in.used() == gpus(1));
  CHECK(in.index().free_devices(node_id{0}) == 0);
  // On the first device the eighth memory slice is left, where no instance may start.
  for (const allocation_id a : all) in.release(a);
  CHECK(in.index() == of({mig_nodes("n", 1, 2)}).index());
}

TEST_CASE("mig: what fits together depends on positions, not only on slices") {
  inventory in = of({mig_nodes("n", 1, 1)});
  // 3 + 3 compute slices and 4 + 4 memory slices: one compute slice is left, and no memory for it.
  REQUIRE(in.place(instances("3g.20gb", 2)));
  CHECK_FALSE(in.place(instances("1g.5gb")));
  const gpu::unplaceable why = in.why_not(instances("1g.5gb"));
  CHECK(why.reason == obstacle::full);
  CHECK(why.asked == quantity::milli(125));

  inventory other = of({mig_nodes("n", 1, 1)});
  REQUIRE(other.place(instances("4g.20gb")));
  REQUIRE(other.place(instances("2g.10gb")));
  // Two memory slices are free, but together only at 6, where 2g may not start.
  CHECK_FALSE(other.place(instances("2g.10gb")));
  CHECK(other.why_not(instances("2g.10gb")).reason == obstacle::fragmented);
  CHECK(other.place(instances("1g.10gb")).has_value());
}

TEST_CASE("mig: instances go to devices in MIG mode, and nothing else does") {
  std::vector<gpu::node_spec> specs{mig_nodes("cut", 1, 2), mig_nodes("whole", 1, 2)};
  specs[1].mig = false;
  inventory in = of(specs);
  const auto whole = in.place({gpus(2)});
  REQUIRE(whole);
  CHECK(in.pods(*whole).begin()->where.node == node_id{1});
  CHECK_FALSE(in.place({gpus(1)}));
  CHECK_FALSE(in.place({quantity::milli(500)}));
  const auto cut = in.place(instances("7g.40gb", 2));
  REQUIRE(cut);
  for (const gpu::placed_pod& p : in.pods(*cut)) {
    CHECK(p.where.node == node_id{0});
    CHECK(p.milli == 1000);
  }
  CHECK_FALSE(in.place(instances("1g.5gb")));
  // A pod without GPUs may be placed on either.
  CHECK(in.place({gpus(0)}).has_value());
}

TEST_CASE("mig: one name on two models is two sizes") {
  inventory in = of({mig_nodes("large", 1, 1, "H100 80GB HBM3", 81559), mig_nodes("small", 1, 1)});
  gpu::pod_request d = instances("1g.10gb");
  d.models = std::uint64_t{1} << in.layout().find_model("H100 80GB HBM3").value();
  CHECK(in.pods(in.place(d).value()).begin()->milli == 125);
  d.models = std::uint64_t{1} << in.layout().find_model("A100-SXM4-40GB").value();
  CHECK(in.pods(in.place(d).value()).begin()->milli == 250);
  d.models = gpu::all_models;
  CHECK(in.could_ever_fit(d));
  d.pods = 12;
  CHECK_FALSE(in.could_ever_fit(d));
  CHECK(in.why_not(d).reason == obstacle::larger_than_cluster);
  d.pods = 11;
  CHECK(in.could_ever_fit(d));
  CHECK_FALSE(in.place(d));
  d.pods = 9;
  CHECK(in.place(d).has_value());
}

TEST_CASE("mig: only a pod placed on slices that are still held must wait") {
  inventory in = of({mig_nodes("n", 1, 1)});
  const auto low = in.place(instances("4g.20gb")).value();
  const auto high = in.place(instances("3g.20gb")).value();
  in.vacate(low);
  CHECK(in.ready(high));
  const auto next = in.place(instances("4g.20gb")).value();
  CHECK_FALSE(in.ready(next));
  in.release(next);
  in.reoccupy(low);
  in.vacate(high);
  const auto beside = in.place(instances("2g.10gb")).value();
  CHECK_FALSE(in.ready(beside));
  in.release(high);
  CHECK(in.ready(beside));
  CHECK(in.ready(low));
}

TEST_CASE("mig: only one instance of a device has the media engines, held until it has left") {
  inventory in = of({mig_nodes("n", 1, 1)});
  const auto first = in.place(instances("1g.5gb+me")).value();
  CHECK_FALSE(in.place(instances("1g.5gb+me")));
  in.vacate(first);
  CHECK(in.place(instances("1g.5gb", 6)).has_value());
  const auto second = in.place(instances("1g.5gb+me")).value();
  CHECK_FALSE(in.ready(second));
  in.release(first);
  CHECK(in.ready(second));
}

TEST_CASE("mig: a GPU without MIG, or of ambiguous model, can't be in MIG mode") {
  const auto problem_of = [](std::string model, std::int64_t memory) {
    const auto built = gpu::build_cluster({mig_nodes("n", 1, 8, std::move(model), memory)});
    REQUIRE_FALSE(built);
    REQUIRE(built.problems().size() == 1);
    CHECK(built.problems()[0].field == "mig");
    return built.problems()[0].text;
  };
  CHECK(problem_of("V100", 16384) ==
        "the GPUs of n can't be in MIG mode: expected A30, A100, H100, H200 or B200, "
        "for A100 and H100 with the memory, found V100");
  CHECK(problem_of("A100", 0).find("A100") != std::string::npos);
  CHECK(problem_of("", 40960) == "the GPUs of n can't be in MIG mode: they have no model");
}

TEST_CASE("mig: invalid requests") {
  gpu::pod_request d = instances("1g.5gb");
  d.gpus = gpus(1);
  CHECK_FALSE(gpu::split(d, 8));
  d = instances("1g.5gb");
  d.gpu_memory_mib = 100;
  CHECK_FALSE(gpu::split(d, 8));
  d = instances("1g.5gb");
  d.devices = 2;
  CHECK_FALSE(gpu::split(d, 8));
  // Of a profile that none of the nodes offers.
  inventory in = of({mig_nodes("n", 1, 1)});
  CHECK_FALSE(in.place(instances("1g.18gb")));
  CHECK(in.why_not(instances("1g.18gb")).reason == obstacle::too_large_for_any_node);
  CHECK_FALSE(in.could_ever_fit(instances("1g.18gb")));
}

TEST_CASE("mig: the inventory does what devices on their own would, and every change can be undone") {
  const std::string_view profiles[] = {"1g.5gb",  "1g.5gb+me", "1g.10gb", "2g.10gb",
                                       "3g.20gb", "4g.20gb",   "7g.40gb"};
  allot_test::for_each_seed(40, [&](random_source& random) {
    inventory in = of({mig_nodes("a", random.between(1, 3), 2), mig_nodes("b", 1, 3)});
    std::vector<std::pair<allocation_id, bool>> standing;
    const auto could_stand = [&](std::string_view profile) {
      for (std::size_t n = 0; n < in.layout().size(); ++n) {
        for (std::uint32_t d = 0; d < in.layout().gpus(node_id{n}); ++d) {
          gpu::mig_device now{in.layout().type_of(node_id{n}).mig.value()};
          const gpu::pod_location here{node_id{n}, std::uint64_t{1} << d};
          for (const auto& [a, vacating] : standing) {
            const gpu::placed_pod& pod = *in.pods(a).begin();
            if (vacating || !(pod.where == here)) continue;
            now.place_at(gpu::profile_of(now.model(), pod.mig).value(), pod.mig_start);
          }
          if (now.choose(gpu::find_mig_profile(now.model(), profile).value())) return true;
        }
      }
      return false;
    };
    for (int i = 0; i < 80; ++i) {
      if (random.one_in(5)) {
        const inventory before = in;
        const allot::savepoint s = in.save();
        for (int k = 0; k < 4; ++k) {
          if (!standing.empty() && random.one_in(2)) {
            auto& [a, vacating] = random.pick(standing);
            if (in.contains(a) && !in.is_vacating(a)) in.vacate(a);
          }
          static_cast<void>(
              in.place(instances(random.pick(profiles), 1 + static_cast<std::uint32_t>(random.below(3)))));
        }
        in.rollback(s);
        REQUIRE(in == before);
      }
      if (standing.empty() || !random.one_in(3)) {
        const std::string_view profile = random.pick(profiles);
        const bool expected = could_stand(profile);
        const bool has_room = gpu::has_room(in.index(), instances(profile));
        const auto a = in.place(instances(profile));
        REQUIRE(a.has_value() == expected);
        REQUIRE(has_room == expected);
        if (a) standing.emplace_back(*a, false);
        continue;
      }
      const std::size_t k = random.below(standing.size());
      auto& [a, vacating] = standing[k];
      if (!vacating && random.one_in(2)) {
        in.vacate(a);
        vacating = true;
        continue;
      }
      in.release(a);
      standing.erase(standing.begin() + static_cast<std::ptrdiff_t>(k));
    }
    for (const auto& [a, vacating] : standing) in.release(a);
    CHECK(in.used() == quantity{});
    CHECK(in.held() == quantity{});
    CHECK(in.index() == inventory{in.layout()}.index());
  });
}

TEST_CASE("mig: placing and releasing does not allocate") {
  inventory in = of({mig_nodes("n", 4, 8)});
  const auto work = [&] {
    const auto a = in.place(instances("2g.10gb", 20)).value();
    const auto b = in.place(instances("1g.5gb", 20)).value();
    in.vacate(a);
    in.release(a);
    in.release(b);
  };
  work();
  CHECK(allot_test::allocations_in(work) == 0);
}
