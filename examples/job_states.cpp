// SPDX-License-Identifier: BSL-1.0
// What a host may report of a job in each of its states, and what becomes of it: each call on a copy of one
// scheduler that has a job in every state. Prints the table of the guide.
#include <allot/allot.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using allot::job_id;
using allot::job_state;
using allot::refusal;

struct work {
  allot::quota_id team;
  std::int64_t gpus = 0;
};
struct work_view {
  using job = const work*;
  allot::quota_id quota(job j) const { return j->team; }
  allot::resources<> request(job j) const { return allot::gpus(j->gpus); }
  std::int64_t priority(job) const { return 0; }
};
using scheduler = allot::scheduler_for<allot::standard, work_view>;

struct call {
  std::string_view text;
  refusal (*make)(scheduler&, job_id);
};
constexpr call calls[] = {
    {"starting(id, until)", [](scheduler& s, job_id id) { return s.starting(id, 30); }},
    {"started(id, when)", [](scheduler& s, job_id id) { return s.started(id, 0); }},
    {"start_failed(id, not_before)", [](scheduler& s, job_id id) { return s.start_failed(id, 60); }},
    {"finished(id)", [](scheduler& s, job_id id) { return s.finished(id); }},
    {"evicting(id)", [](scheduler& s, job_id id) { return s.evicting(id); }},
    {"leaves_by(id, when)", [](scheduler& s, job_id id) { return s.leaves_by(id, 30); }},
    {"not_evicted(id, until)", [](scheduler& s, job_id id) { return s.not_evicted(id, 60); }},
    {"evicted(id)", [](scheduler& s, job_id id) { return s.evicted(id); }},
    {"update(id)", [](scheduler& s, job_id id) { return s.update(id); }},
    {"hold(id)", [](scheduler& s, job_id id) { return s.hold(id); }},
    {"cancel(id)", [](scheduler& s, job_id id) { return s.cancel(id); }},
};

}  // namespace

int main() {
  std::vector<allot::quota_spec<1>> teams = {{.name = "cluster"}};
  for (const char* name : {"a", "b", "c"})
    teams.push_back({.name = name, .parent = "cluster", .nominal = allot::gpus(2)});
  scheduler s = allot::make_scheduler(allot::standard{}, work_view{}, std::move(teams)).value();

  const allot::quota_id a = s.tree().find("a"), b = s.tree().find("b"), c = s.tree().find("c");
  const work of_a{a, 1}, borrower{b, 4}, owner{c, 2}, large{b, 3};
  const job_id running = s.submit(&of_a).id;
  const job_id starting = s.submit(&of_a).id;
  const job_id evicting = s.submit(&borrower).id;
  s.step(0);
  s.starting(starting, 20);
  const job_id nominated = s.submit(&owner).id;
  const job_id pending = s.submit(&large).id;
  s.step(0);
  const job_id gone = s.submit(&of_a).id;
  s.cancel(gone);

  std::cout << "| the host says |";
  const job_id ids[] = {pending, nominated, starting, running, evicting, gone};
  for (const job_id id : ids) std::cout << ' ' << to_string(s.state(id)) << " |";
  std::cout << "\n|---|---|---|---|---|---|---|\n";
  for (const call& each : calls) {
    std::cout << "| `" << each.text << "` |";
    for (const job_id id : ids) {
      scheduler copy = s;
      const refusal why_not = each.make(copy, id);
      const job_state is = copy.state(id);
      if (why_not != refusal::none) {
        std::cout << " *" << to_string(why_not) << "* |";
      } else if (copy.is_held(id)) {
        std::cout << ' ' << to_string(is) << ", held |";
      } else {
        std::cout << ' ' << (is == job_state::unknown ? "gone" : to_string(is)) << " |";
      }
    }
    std::cout << '\n';
  }
}
