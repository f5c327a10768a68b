// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/decayed_surplus.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fairshare/rules.hpp"

using allot::claimant;
using allot::decayed_surplus;
using allot::gpus;
using allot::past_use_settings;
using allot::quantity;
using allot_test::granted_by;

namespace {

using amounts = std::vector<std::int64_t>;

claimant who(std::int64_t guaranteed, std::int64_t weight, std::int64_t wants, std::int64_t past_permille) {
  claimant c{{}, gpus(wants), weight * 1000, gpus(std::min(guaranteed, wants))};
  c.past_use = past_permille * 1'000'000;
  return c;
}
const past_use_settings as_kai{1000, false, true};

}  // namespace

static_assert(allot::surplus_rule<decayed_surplus<>>);

TEST_CASE("decayed_surplus: KAI's rows on 128 GPUs, in whole GPUs") {
  decayed_surplus<> rule{as_kai, gpus(1)};
  CHECK(granted_by(rule, 80'000, {who(32, 2, 128, 600), who(16, 1, 128, 100), who(0, 1, 24, 0)}) ==
        amounts{61'000, 43'000, 24'000});
  decayed_surplus<> without{past_use_settings{0, false, true}, gpus(1)};
  CHECK(granted_by(without, 80'000, {who(32, 2, 128, 600), who(16, 1, 128, 100), who(0, 1, 24, 0)}) ==
        amounts{72'000, 36'000, 20'000});
  CHECK(granted_by(rule, 128'000, {who(0, 1, 128, 0), who(0, 1, 128, 0), who(0, 1, 128, 0)}) ==
        amounts{43'000, 43'000, 42'000});
  CHECK(granted_by(rule, 80'000, {who(10, 3, 100, 0), who(10, 1, 100, 0)}) == amounts{70'000, 30'000});
}

TEST_CASE("decayed_surplus: with k = 0 or no recent usage, in proportion to weight") {
  allot_test::for_each_seed(800, [](allot_test::random_source& random) {
    auto claimants = allot_test::random_claimants(random);
    const std::int64_t surplus = random.between(0, 150);
    const auto by_weight = granted_by(allot::proportional_to_weight{}, surplus, claimants);
    CHECK(granted_by(decayed_surplus<>{past_use_settings{random.between(-9, 0)}}, surplus, claimants) ==
          by_weight);
    for (claimant& c : claimants) c.past_use = 0;
    CHECK(granted_by(decayed_surplus<>{past_use_settings{random.between(0, 5000)}}, surplus, claimants) ==
          by_weight);
  });
}

TEST_CASE("decayed_surplus: past usage reduces a part of the surplus, down to nothing") {
  const std::vector<claimant> claimants{who(0, 1, 99, 750), who(0, 1, 99, 250)};
  // Parts of 0.5 + k (0.5 - u): 0.375 and 0.625; 0.25 and 0.75; none and 1.
  CHECK(granted_by(decayed_surplus<>{past_use_settings{500}}, 8'000, claimants) == amounts{3'000, 5'000});
  CHECK(granted_by(decayed_surplus<>{past_use_settings{1000}}, 8'000, claimants) == amounts{2'000, 6'000});
  CHECK(granted_by(decayed_surplus<>{past_use_settings{2000}}, 8'000, claimants) == amounts{0, 8'000});
  // But the surplus is not left idle because of it.
  CHECK(granted_by(decayed_surplus<>{past_use_settings{2000}}, 8'000,
                   {who(0, 1, 99, 750), who(0, 1, 3, 250)}) == amounts{5'000, 3'000});
}

TEST_CASE("decayed_surplus: usage can be measured among siblings (KAI's trap 23)") {
  // A department with a tenth of the cluster, all of it used by the first.
  const std::vector<claimant> claimants{who(0, 1, 16, 100), who(0, 1, 16, 0)};
  CHECK(granted_by(decayed_surplus<>{as_kai, gpus(1)}, 16'000, claimants) == amounts{8'000, 8'000});
  CHECK(granted_by(decayed_surplus<>{past_use_settings{1000, true}, gpus(1)}, 16'000, claimants) ==
        amounts{0, 16'000});
  CHECK(granted_by(decayed_surplus<>{past_use_settings{500, true}, gpus(1)}, 16'000, claimants) ==
        amounts{4'000, 12'000});
}

TEST_CASE("decayed_surplus: grants the whole surplus, and more surplus reduces no grant") {
  for (const std::int64_t k : {0, 300, 1000, 4000}) {
    allot_test::check_law_of_conservation(decayed_surplus<>{past_use_settings{k}}, 200);
    allot_test::check_law_of_conservation(decayed_surplus<>{past_use_settings{k, true}}, 200);
  }
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    allot_test::check_conserved(
        decayed_surplus<>{past_use_settings{random.between(0, 3000), random.one_in(2), true}},
        random.between(0, 200), allot_test::random_claimants(random));
  });
}

TEST_CASE("decayed_surplus: grants the whole surplus in units of any size, with any rounding but down") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const past_use_settings settings{random.between(0, 3000), random.one_in(2), random.one_in(2)};
    const quantity unit = quantity::milli(random.between(1, 9));
    const std::int64_t surplus = random.between(0, 200);
    const auto claimants = allot_test::random_claimants(random);
    allot_test::check_conserved(decayed_surplus<>{settings, unit}, surplus, claimants);
    allot_test::check_conserved(decayed_surplus<allot::largest_remainder>{settings, unit}, surplus,
                                claimants);
    allot_test::check_conserved(decayed_surplus<allot::longest_unserved>{settings, unit}, surplus, claimants);
  });
}

TEST_CASE("decayed_surplus: with recomputed weights more surplus may reduce a grant") {
  // With 55 GPUs c needs one round more to be full than with 56, so a and b are compared with each other a
  // round later.
  const std::vector<claimant> claimants{who(0, 3, 200, 300), who(0, 4, 200, 700), who(0, 3, 2, 400),
                                        who(0, 1, 2, 0)};
  const auto first_has = [&](const past_use_settings& settings, std::int64_t surplus) {
    return granted_by(decayed_surplus<>{settings}, surplus * 1000, claimants).front();
  };
  CHECK(first_has({2000, false, true}, 55) == 48'853);
  CHECK(first_has({2000, false, true}, 56) == 43'200);
  CHECK(first_has({2000}, 55) < first_has({2000}, 56));
}

TEST_CASE("decayed_surplus: weights and amounts of any size") {
  std::vector<claimant> claimants(
      3, claimant{{}, quantity::milli(std::int64_t{1} << 60), std::int64_t{1} << 52});
  claimants[0].past_use = 1'000'000'000;
  allot_test::check_conserved(decayed_surplus<>{past_use_settings{1'000'000}}, std::int64_t{1} << 60,
                              claimants);
  allot_test::check_conserved(decayed_surplus<>{past_use_settings{1000, false, true}}, std::int64_t{1} << 60,
                              claimants);
}
