// SPDX-License-Identifier: BSL-1.0
// The laws of tests/README.md for presets that promise some of them. What a preset does not keep, and
// why, is told in its header. (`standard`: laws.cpp.)
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/static_quotas.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <doctest/doctest.h>

#include <string>

#include "tests/support/law_host.hpp"
#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"

using allot_test::all_laws;
using allot_test::law;
using allot_test::law_set;
using allot_test::scenario;
using allot_test::scenario_shape;

namespace {

/// Checks that the preset keeps these laws in scenarios of a shape.
template <class Preset>
void keeps(law_set kept, const scenario_shape& shape) {
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property(std::string{Preset::name}, [worlds, kept] {
    const scenario s = *worlds;
    allot_test::check_laws<Preset>(s, kept);
  });
}

/// Quotas have the settings of the preset (order, head, which jobs may be preempted), or their own.
scenario_shape with_settings_of_preset() {
  scenario_shape shape;
  shape.random_settings = false;
  return shape;
}
constexpr scenario_shape with_own_settings{};
/// As in Kueue and KAI: only leaves have jobs, and queues order by priority.
scenario_shape with_jobs_of_leaves() {
  scenario_shape shape;
  shape.fifo = false;
  shape.inner_jobs = false;
  shape.static_quotas = false;
  return shape;
}

}  // namespace

TEST_CASE("laws: static_quotas") {
  keeps<allot::static_quotas>(all_laws, with_settings_of_preset());
}

TEST_CASE("laws: pai") {
  keeps<allot::pai>(all_laws - law::final, with_own_settings);
}

TEST_CASE("laws: fifo") {
  keeps<allot::fifo>(all_laws, with_settings_of_preset());
}

TEST_CASE("laws: sjf") {
  keeps<allot::sjf>(all_laws, with_settings_of_preset());
}

TEST_CASE("laws: hyperpod") {
  keeps<allot::hyperpod>(all_laws - law::final, with_settings_of_preset());
}

TEST_CASE("laws: kueue") {
  keeps<allot::kueue>(law::deterministic | law::reversible | law::explained, with_jobs_of_leaves());
}

TEST_CASE("laws: kueue_fair") {
  keeps<allot::kueue_fair>(law::sound | law::need | law::deterministic | law::reversible | law::explained,
                           with_jobs_of_leaves());
}

TEST_CASE("laws: runai") {
  keeps<allot::runai>(law::deterministic | law::reversible, with_jobs_of_leaves());
}
