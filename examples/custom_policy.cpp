// SPDX-License-Identifier: BSL-1.0
//
// A custom policy: a lab where idle GPUs go to the team with the next paper deadline, where the job that has
// done least is evicted first, and where jobs that are nearly done are not evicted. The parts are plain
// callables. What the library does not know they see in the host's jobs, or look up in its tables.
#include <allot/allot.hpp>
#include <allot/core/text.hpp>
#include <allot/fairshare/division.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::gpus;
using allot::quantity;
using allot::quota_id;

struct job {
  std::string name;
  std::uint64_t number;
  quota_id team;
  int gpus;
  int percent_done = 0;
};
using deadlines = std::map<quota_id, int>;  // in days

// --- the policy: these 30 lines

//! [order]
/// Divides idle capacity: everything that the team with the next deadline wants, then the one after it.
struct next_deadline_first {
  const deadlines* days;
  void operator()(quantity idle, std::span<allot::claimant> teams) const {
    std::vector<allot::claimant*> order;
    for (allot::claimant& t : teams) order.push_back(&t);
    std::sort(order.begin(), order.end(), [&](auto* a, auto* b) {
      return std::pair{days->at(a->quota), a->quota} < std::pair{days->at(b->quota), b->quota};
    });
    for (allot::claimant* t : order) {
      const quantity more = std::min(idle, t->wants - t->granted);
      t->granted += more;
      idle = idle - more;
    }
  }
  /// The matching order of quotas: those within their own share first, then by deadline.
  template <std::size_t N>
  auto operator()(const allot::ledger<N>& l, const allot::contender<N>& c) const {
    return std::pair{std::pair{allot::share_of(l, c).borrows, days->at(c.quota)}, c.head};
  }
};
//! [order]
//! [victims]
/// The order of victims: jobs that have done least first.
struct least_done_first {
  template <class View, std::size_t N>
  auto operator()(const View&, const job* j, const allot::ledger<N>&,
                  const allot::victim_candidate<N>&) const {
    return std::pair{j->percent_done, j->number};
  }
  template <class View>
  bool within_quota(const View&, const job* a, const job* b, allot::instant) const {
    return std::pair{a->percent_done, a->number} < std::pair{b->percent_done, b->number};
  }
};
//! [victims]
//! [guard]
/// The fairness guard: jobs that are nearly done stay.
struct nearly_done_stays {
  template <class View, std::size_t N>
  bool operator()(const View&, const job* /*beneficiary*/, const job* victim, const allot::ledger<N>&,
                  const allot::beneficiary<N>&, const allot::victim_candidate<N>&) const {
    return victim->percent_done < 90;
  }
};
//! [guard]

// --- the host

struct jobs_view {
  using job = const ::job*;
  quota_id quota(job j) const { return j->team; }
  allot::resources<> request(job j) const { return gpus(j->gpus); }
  int priority(job) const { return 0; }
  std::uint64_t id(job j) const { return j->number; }
};
//! [policies]
using lab_policies =
    allot::policies<next_deadline_first, allot::by_settings, least_done_first, nearly_done_stays>;
//! [policies]

}  // namespace

int main() {
  const auto tree = allot::build_quota_tree<1>({{.name = "lab"},
                                                {.name = "vision", .parent = "lab", .nominal = gpus(4)},
                                                {.name = "speech", .parent = "lab", .nominal = gpus(2)},
                                                {.name = "robots", .parent = "lab", .nominal = gpus(10)}})
                        .value();
  const quota_id lab_itself = tree.find("lab"), vision = tree.find("vision"), speech = tree.find("speech"),
                 robots = tree.find("robots");
  const deadlines days{{vision, 30}, {speech, 5}, {robots, 90}, {lab_itself, 999}};
  std::deque<job> jobs;
  allot::scheduler<jobs_view, allot::no_placement, lab_policies> lab{
      jobs_view{}, tree, {}, {.quotas = {&days}}};

  std::vector<allot::job_id> ids;
  std::vector<allot::resources<>> wanted(tree.slots());
  const auto submit = [&](quota_id team, int count, int each) {
    for (int i = 0; i < count; ++i) {
      jobs.push_back({fmt::format("{}-{}", tree.name(team), jobs.size()), jobs.size(), team, each});
      ids.push_back(lab.submit(&jobs.back()));
      wanted[team.index()][0] += gpus(each);
    }
  };
  const auto settle = [&] {
    allot::settle(lab, 0, [&](const auto& plan) {
      for (const auto& a : plan.admissions) fmt::print("  {} starts\n", a.what->name);
      for (const auto& e : plan.evictions) {
        fmt::print("  {}, {} % done, yields to {}\n", e.what->name, e.what->percent_done,
                   lab.what(e.beneficiary)->name);
        lab.evicted(e.id);
      }
    });
  };

  fmt::print("robots is idle; vision has a deadline in 30 days and speech in 5.\n");
  submit(vision, 4, 3);
  submit(speech, 4, 3);
  //! [division]
  allot::division<1, next_deadline_first> owed{next_deadline_first{&days}};
  owed.update(lab.ledger(), wanted);
  //! [division]
  for (const quota_id x : {vision, speech}) {
    fmt::print("  {} owns {}, wants {}, and is entitled to {} GPUs\n", tree.name(x),
               to_string(tree.spec(x).nominal[0]), to_string(wanted[x.index()][0]),
               to_string(owed.own(x)[0]));
  }
  settle();

  fmt::print("robots wants 7 of its 10 GPUs.\n");
  const int percent_done[] = {40, 40, 40, 40, 65, 35, 95, 92};
  for (job& j : jobs) j.percent_done = percent_done[j.number];
  submit(robots, 1, 7);
  settle();
  fmt::print("It wants the other 3 as well, but those who have them are nearly done.\n");
  submit(robots, 1, 3);
  settle();
  fmt::print("  {} waits\n", jobs.back().name);
  fmt::print("speech-6 is done.\n");
  lab.finished(ids.at(6));
  settle();
}
