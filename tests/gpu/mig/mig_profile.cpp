// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/mig/mig_profile.hpp>

#include <doctest/doctest.h>
#include <tests/support/throwing_assert.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
using gpu::mig_model;
using gpu::mig_profile;
using gpu::mig_profile_id;

namespace {

constexpr mig_model all_models[] = {mig_model::a30_24gb,  mig_model::a100_40gb,  mig_model::a100_80gb,
                                    mig_model::h100_80gb, mig_model::h200_141gb, mig_model::b200_180gb};

static_assert(gpu::find_mig_profile(mig_model::a100_40gb, "3g.20gb") == mig_profile_id{4});
static_assert(gpu::profile_of(mig_model::h100_80gb, mig_profile_id{2}).name == "1g.20gb");

}  // namespace

TEST_CASE("mig_profile: places of one profile do not overlap and lie on the GPU") {
  for (const mig_model m : all_models) {
    CAPTURE(to_string(m));
    for (const mig_profile& p : gpu::mig_profiles(m)) {
      CAPTURE(p.name);
      std::uint32_t taken = 0;
      for (std::uint32_t s = 0; s < 8; ++s) {
        if (!p.may_start_at(s)) {
          CHECK_THROWS_AS(static_cast<void>(p.slices_from(s)), allot_test::assertion_failed);
          continue;
        }
        const std::uint32_t slices = p.slices_from(s);
        CHECK(static_cast<std::uint32_t>(std::popcount(slices)) == p.memory_slices);
        CHECK((slices & taken) == 0);
        taken |= slices;
      }
      CHECK(taken < 1U << gpu::memory_slices(m));
      CHECK(p.most >= 1);
      CHECK(p.most <= static_cast<std::uint32_t>(std::popcount(p.starts)));
      CHECK(p.compute_slices <= gpu::compute_slices(m));
      CHECK_FALSE(p.may_start_at(32));
    }
  }
}

TEST_CASE("mig_profile: the name contains the compute slices, and larger profiles come later") {
  for (const mig_model m : all_models) {
    const mig_profile* before = nullptr;
    for (const mig_profile& p : gpu::mig_profiles(m)) {
      CHECK(p.name.substr(0, 2) == std::to_string(p.compute_slices) + "g");
      CHECK(p.media == (p.name.ends_with("+me") || p.memory_slices == gpu::memory_slices(m)));
      if (before != nullptr) {
        CHECK(before->memory_slices <= p.memory_slices);
        CHECK(before->compute_slices <= p.compute_slices);
      }
      before = &p;
    }
  }
}

TEST_CASE("mig_profile: every profile is found by its names and no model has another's") {
  for (const mig_model m : all_models) {
    const auto profiles = gpu::mig_profiles(m);
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const std::string name{profiles[i].name};
      CHECK(gpu::find_mig_profile(m, name) == mig_profile_id{i});
      CHECK(gpu::find_mig_profile(m, "MIG " + name) == mig_profile_id{i});
      CHECK(gpu::find_mig_profile(m, "mig-" + name) == mig_profile_id{i});
    }
    for (const char* wrong :
         {"", "1g", "1g.5", "9g.5gb", "3g.20GB", "MIG", "MIG ", "1g.5gb+", "+me", "1g.5gb +me"}) {
      CHECK_FALSE(gpu::find_mig_profile(m, wrong));
    }
  }
  CHECK(gpu::find_mig_profile(mig_model::a100_80gb, "mig-1g.10gb.me") == mig_profile_id{1});
  CHECK(gpu::find_mig_profile(mig_model::a100_80gb, "1g.10gb") == mig_profile_id{0});
  CHECK_FALSE(gpu::find_mig_profile(mig_model::a100_80gb, "1g.5gb"));
  CHECK_FALSE(gpu::find_mig_profile(mig_model::a100_80gb, "2g.20gb+me"));
  // The same name is another profile on another model.
  CHECK(gpu::find_mig_profile(mig_model::a100_40gb, "1g.10gb") == mig_profile_id{2});
  CHECK(gpu::profile_of(mig_model::a100_40gb, mig_profile_id{2}).memory_slices == 2);
  CHECK_THROWS_AS(static_cast<void>(gpu::profile_of(mig_model::a30_24gb, mig_profile_id{5})),
                  allot_test::assertion_failed);
}

TEST_CASE("mig_profile: models are found by product name and memory") {
  const auto found = [](const char* name, std::int64_t mib = 0) { return gpu::find_mig_model(name, mib); };
  CHECK(found("A100-SXM4-40GB") == mig_model::a100_40gb);
  CHECK(found("NVIDIA A100-PCIE-40GB") == mig_model::a100_40gb);
  CHECK(found("NVIDIA A100 80GB PCIe") == mig_model::a100_80gb);
  CHECK(found("A100-SXM4-80GB") == mig_model::a100_80gb);
  CHECK(found("a100", 40'536) == mig_model::a100_40gb);
  CHECK(found("A100", 81'920) == mig_model::a100_80gb);
  CHECK(found("A100", 40'960) == mig_model::a100_40gb);
  CHECK(found("NVIDIA H100 80GB HBM3") == mig_model::h100_80gb);
  CHECK(found("H100", 81'559) == mig_model::h100_80gb);
  CHECK(found("NVIDIA H200") == mig_model::h200_141gb);
  CHECK(found("B200", 183'359) == mig_model::b200_180gb);
  CHECK(found("A30") == mig_model::a30_24gb);
  // Another memory size means other profiles; these names are ambiguous or of models without MIG.
  for (const char* other :
       {"A100", "H100", "H100 NVL", "GB200", "GH200", "V100", "A3000", "A10", "XA100-40GB", ""}) {
    CAPTURE(other);
    CHECK_FALSE(found(other));
  }
  CHECK_FALSE(found("H100 NVL", 95'830));
  CHECK_FALSE(found("T4", 81'920));
}

TEST_CASE("mig_profile: a list of names gives the profiles, or a problem for each that is not offered") {
  const std::vector<std::string> good{"3g.20gb", "MIG 1g.5gb+me", "3g.20gb"};
  const auto parsed = gpu::parse_mig_profiles(mig_model::a100_40gb, good);
  REQUIRE(parsed);
  CHECK(parsed.value() == std::vector{mig_profile_id{4}, mig_profile_id{1}, mig_profile_id{4}});

  const std::vector<std::string> bad{"3g.40gb", "1g.5gb", ""};
  const auto refused = gpu::parse_mig_profiles(mig_model::a100_40gb, bad);
  REQUIRE_FALSE(refused);
  REQUIRE(refused.problems().size() == 2);
  CHECK(refused.problems()[0].code == allot::problem_code::unknown_name);
  CHECK(refused.problems()[0].subject == "3g.40gb");
  CHECK(refused.problems()[0].text ==
        "A100-40GB has no MIG profile 3g.40gb: it offers 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, "
        "4g.20gb, 7g.40gb");
  CHECK(refused.problems()[1].text ==
        "A100-40GB has no MIG profile without a name: it offers 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, "
        "3g.20gb, 4g.20gb, 7g.40gb");
  CHECK(gpu::parse_mig_profiles(mig_model::a30_24gb, {}).value().empty());
}
