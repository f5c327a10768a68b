// SPDX-License-Identifier: BSL-1.0
// Each room's nouns, declared first: what their definitions say must agree, or this does not compile.
#include <allot/core/fwd.hpp>
#include <allot/extras/fwd.hpp>
#include <allot/fairshare/fwd.hpp>
#include <allot/gpu/fwd.hpp>
#include <allot/preemption/fwd.hpp>
#include <allot/presets/fwd.hpp>
#include <allot/quota/fwd.hpp>
#include <allot/scheduler/fwd.hpp>
#include <allot/sim/fwd.hpp>
#include <allot/systems/fwd.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

/// A header of a host that names a scheduler and needs no more.
struct host_of_a_scheduler {
  const allot::ledger<1>* books = nullptr;
  const allot::queue_settings* settings = nullptr;
  allot::job_state state{};
};

}  // namespace

#include <allot/allot.hpp>
#include <allot/extras/adjusted_shares.hpp>
#include <allot/extras/admission_usage.hpp>
#include <allot/extras/disruption_budget.hpp>
#include <allot/extras/hierarchical_drf.hpp>
#include <allot/extras/whole_gangs.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

TEST_CASE("fwd: what is declared there is what the headers define") {
  const allot::quota_tree<1> tree = allot::build_quota_tree<1>({{.name = "a"}}).value();
  const allot::ledger<1> l{tree};
  const host_of_a_scheduler h{&l, nullptr, allot::job_state::running};
  CHECK(h.books->tree().slots() == 1);
  CHECK(std::is_same_v<decltype(h.state), allot::job_state>);
}
