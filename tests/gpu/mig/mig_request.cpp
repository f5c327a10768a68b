// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/mig/mig_request.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace gpu = allot::gpu;
using gpu::mig_model;

TEST_CASE("mig_request: a name selects the profile of that name on each model") {
  const auto small = gpu::find_mig_request("1g.10gb");
  REQUIRE(small);
  CHECK(gpu::name_of(*small) == "1g.10gb");
  // Two memory slices of eight on the smaller GPU, one on the larger ones.
  const auto on_40 = gpu::profile_of(mig_model::a100_40gb, *small);
  const auto on_80 = gpu::profile_of(mig_model::h100_80gb, *small);
  REQUIRE(on_40);
  REQUIRE(on_80);
  CHECK(gpu::portion_of(mig_model::a100_40gb, *on_40) == 250);
  CHECK(gpu::portion_of(mig_model::h100_80gb, *on_80) == 125);
  CHECK_FALSE(gpu::profile_of(mig_model::a30_24gb, *small));
  CHECK_FALSE(gpu::profile_of(mig_model::a100_40gb, gpu::mig_request{}));
}

TEST_CASE("mig_request: every profile of every model is found by its name, and by that of Kubernetes") {
  std::set<gpu::mig_request> all;
  for (const mig_model m : gpu::detail::all_mig_models) {
    const auto offered = gpu::mig_profiles(m);
    for (std::size_t p = 0; p < offered.size(); ++p) {
      CAPTURE(offered[p].name);
      const auto found = gpu::find_mig_request(offered[p].name);
      REQUIRE(found);
      CHECK(gpu::name_of(*found) == offered[p].name);
      CHECK(gpu::profile_of(m, *found) == gpu::mig_profile_id{p});
      CHECK(gpu::find_mig_request("mig-" + std::string{offered[p].name}) == found);
      all.insert(*found);
    }
    // The largest one is the whole device.
    CHECK(gpu::portion_of(m, gpu::mig_profile_id{offered.size() - 1}) == 1000);
  }
  CHECK(all.size() == gpu::detail::known_mig_names.count);
  CHECK(gpu::find_mig_request("mig-1g.5gb.me") == gpu::find_mig_request("1g.5gb+me"));
}

TEST_CASE("mig_request: names that no model has") {
  CHECK_FALSE(gpu::find_mig_request(""));
  CHECK_FALSE(gpu::find_mig_request("5g.25gb"));
  CHECK_FALSE(gpu::find_mig_request("1g"));
}
