// SPDX-License-Identifier: BSL-1.0
// Elastic jobs whose admission is taken back in the step that nominated a further pod of them.
#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/state_text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using allot::instant;
using allot::job_state;

namespace {

namespace gpu = allot::gpu;
using amounts = allot::resources<2>;

struct gang {
  int number;
  std::size_t team;
  std::int64_t gpus;
  std::int64_t cores;
  std::uint32_t pods;
  std::uint32_t min_pods;
  std::int64_t priority;
  instant estimate;
  instant ready;
  instant submitted;
};

struct gang_view {
  using job = const gang*;

  [[nodiscard]] allot::quota_id quota(job j) const { return allot::quota_id{j->team}; }
  [[nodiscard]] amounts request(job j) const { return request(j, j->pods); }
  [[nodiscard]] amounts request(job j, std::uint32_t pods) const {
    return {allot::gpus(j->gpus * pods), allot::quantity::whole(j->cores * pods)};
  }
  [[nodiscard]] std::int64_t priority(job j) const { return j->priority; }
  [[nodiscard]] std::uint32_t pods(job j) const { return j->pods; }
  [[nodiscard]] std::uint32_t min_pods(job j) const { return j->min_pods; }
  [[nodiscard]] gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods); }
  [[nodiscard]] gpu::pod_request pod_request(job j, std::uint32_t pods) const {
    return {.gpus = allot::gpus(j->gpus), .pods = pods, .cpu_milli = 1000 * j->cores};
  }
  [[nodiscard]] instant submitted(job j) const { return j->submitted; }
  [[nodiscard]] std::uint64_t id(job j) const { return static_cast<std::uint64_t>(j->number); }
  [[nodiscard]] instant estimate(job j) const { return j->estimate; }
  [[nodiscard]] instant ready_at(job j) const { return j->ready; }
};

}  // namespace

TEST_CASE(
    "elastic: a pod that was nominated goes with the admission of its job, and who was to leave runs on") {
  // What a random run had. Job 25 starts as reserved; then job 39, with a further pod for which job 33 is to
  // leave. Job 27 takes the place of job 25, so job 39, which came later, is taken back, too.
  static const gang all[] = {
      {19, 2, 2, 12, 7, 2, 3, 0, 0, 3947},   {25, 1, 8, 48, 1, 1, 2, 0, 0, 733},
      {27, 2, 2, 8, 4, 4, 1, 0, 964, 853},   {29, 1, 2, 12, 5, 2, 0, 0, 0, 1019},
      {30, 1, 2, 8, 4, 4, 3, 0, 0, 1131},    {31, 1, 1, 4, 5, 5, 3, 1890, 1722, 1207},
      {32, 1, 1, 2, 1, 1, 1, 2208, 0, 1253}, {33, 1, 1, 3, 1, 1, 0, 1089, 0, 1415},
      {34, 1, 2, 4, 1, 1, 0, 0, 0, 1495},    {35, 1, 1, 3, 1, 1, 0, 1024, 0, 1514},
      {37, 2, 1, 8, 1, 1, 3, 677, 0, 1593},  {39, 1, 1, 6, 4, 1, 2, 1737, 0, 1743},
  };
  constexpr const char* saved = R"(allot-state 1
memory now=1824 quotas="lab","vision","speech" most_jobs=30
unit id=0.1 state=running core=4.3 rank=-4,3947,1,19 what="19" where="node-2:48,"
unit id=2.4 state=running pods=5 rank=-4,12253,0,31 what="31" where="node-6:4,node-1:32,node-1:64,node-1:128,node-1:8,"
unit id=3.3 state=running core=4.3 rank=-4,3947,1,19 what="19" where="node-2:12,"
unit id=4.3 state=running pods=2 rank=-4,3947,0,19 what="19" where="node-4:192,node-0:3,"
unit id=6.2 state=running core=4.3 rank=-4,3947,1,19 what="19" where="node-6:24,"
unit id=7.3 state=running rank=-1,10962,0,33 since=1900 what="33" where="node-1:1,"
unit id=8.1 state=running core=4.3 rank=-4,3947,1,19 what="19" where="node-0:48,"
unit id=10.1 state=running pods=2 rank=-1,1019,0,29 what="29" where="node-6:3,node-4:3,"
unit id=11.1 state=pending rank=-3,733,0,25 what="25"
unit id=12.2 state=running rank=-1,10491,0,35 what="35" where="node-2:64,"
unit id=14.2 state=running rank=-2,21130,0,32 what="32" where="node-2:128,"
unit id=15.0 state=running core=4.3 rank=-4,3947,1,19 what="19" where="node-6:96,"
unit id=19.1 state=running rank=-4,7610,0,37 what="37" where="node-1:4,"
unit id=24.1 state=pending pods_to_come=3 rank=-3,16971,0,39 ready_at=1832 what="39"
unit id=25.1 state=running rank=-1,1495,0,34 what="34" where="node-4:24,"
unit id=27.0 state=pending pods=4 rank=-2,853,0,27 what="27"
unit id=29.0 state=running pods=4 rank=-4,1131,0,30 what="30" where="node-2:3,node-4:36,node-0:12,node-0:192,"
reservation job=11.1 owned=1
end
)";
  const gpu::cluster layout =
      gpu::build_cluster({{.name = "node", .count = 8, .gpus = 8, .cpu_milli = 64'000}}).value();
  const amounts own{allot::gpus(32), allot::quantity::whole(256)};
  auto s = allot::make_scheduler(allot::standard{}, gang_view{},
                                 {{.name = "lab"},
                                  {.name = "vision",
                                   .parent = "lab",
                                   .nominal = own,
                                   .borrow = {allot::limit::at_most(allot::gpus(24)), allot::limit::all()},
                                   .weight = allot::fair_weight::whole(2)},
                                  {.name = "speech",
                                   .parent = "lab",
                                   .nominal = own,
                                   .lend = {allot::limit::percent(75), allot::limit::all()}}},
                                 gpu::inventory{layout})
               .value();
  s.withdraw_evictions(true);
  for (const std::size_t node : {3U, 5U}) static_cast<void>(s.nodes().close(gpu::node_id{node}));
  using where = std::vector<gpu::pod_location>;
  // "node-2:48,node-6:4,": each pod's node and devices.
  const auto read_place = [&](const std::string& text) -> std::optional<where> {
    where pods;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t colon = text.find(':', i);
      const std::size_t comma = text.find(',', i);
      pods.push_back(
          {*layout.find(text.substr(i, colon - i)), std::stoull(text.substr(colon + 1, comma - colon - 1))});
      i = comma + 1;
    }
    return pods;
  };
  const auto read_job = [&](const std::string& name) -> std::optional<const gang*> {
    const auto at = std::find_if(std::begin(all), std::end(all),
                                 [&](const gang& j) { return std::to_string(j.number) == name; });
    return at == std::end(all) ? std::nullopt : std::optional{&*at};
  };
  const auto state = allot::state_from_text<const gang*, where>(saved, read_job, read_place);
  REQUIRE(state);
  const auto resumed = s.resume(state.value(), [&](const auto& u) {
    return s.take_place(s.view().pod_request(u.what, u.core ? 1 : u.pods), u.where);
  });
  REQUIRE(resumed.refused.empty());
  const auto& plan = s.step(state.value().memory.now + 11);
  const auto is_nominated = [&](allot::job_id id) {
    return std::any_of(plan.nominations.begin(), plan.nominations.end(),
                       [&](const auto& r) { return r.id == id; });
  };
  for (const auto& e : plan.evictions) CHECK(is_nominated(e.beneficiary));
  for (const auto& r : plan.nominations) CHECK(s.state(r.id) == job_state::nominated);
  const auto id_of = [&](int number) {
    for (const auto& u : state.value().units) {
      if (u.what->number == number && !u.core) return u.id;
    }
    return allot::job_id{};
  };
  CHECK(s.state(id_of(27)) == job_state::running);
  CHECK(s.state(id_of(33)) == job_state::running);
}
