// SPDX-License-Identifier: BSL-1.0
//
// Three teams on 16 nodes of 8 GPUs. quota1 owns all 128; inside it quota1.1 owns 48 (team B) and quota1.2
// owns 80 (team C). B and C train and lend each other what they leave idle. Team A deploys a service on
// quota1 itself, which may take from the quotas below it (PAI calls this child-level preemption).
#include <allot/allot.hpp>
#include <allot/gpu/inventory.hpp>

#include <fmt/core.h>

#include <array>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;

struct job {
  std::string name;
  quota_id quota;
  int gpus;
  int priority;
};

//! [view]
struct jobs_of_pai {
  using job = const ::job*;
  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return gpus(j->gpus); }
  int priority(job j) const { return j->priority; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(j->gpus)}; }
};

using scheduler_type = allot::scheduler<jobs_of_pai, allot::gpu::inventory, allot::pai::policies_type>;
//! [view]

/// The host: it submits jobs, carries out the plans, and reports back.
class host {
 public:
  explicit host(scheduler_type scheduler) : scheduler_(std::move(scheduler)) {
    allot::queue_settings of_quota1 = allot::pai::defaults();
    of_quota1.preempt.children = true;
    for (const auto& p : scheduler_.configure(quota("quota1"), of_quota1)) {
      fmt::print("{}\n", p.text);
    }
    // The members of two workspaces. A quota belongs to the users that may submit to it.
    access_.add_workspace({"B", {{"bea", {"developer"}}, {"bob", {"developer"}}}, {quota("quota1.1")}});
    access_.add_workspace({"C", {{"cem", {"developer"}}, {"cora", {"developer"}}}, {quota("quota1.2")}});
    access_.set_rule(quota("quota1"), {.users = {"ann"}});
  }

  quota_id quota(std::string_view name) const { return scheduler_.tree().find(name); }

  /// Submits `count` jobs of `each` GPUs.
  void submit(std::string_view user, std::string_view to, int count, int each, int priority = 0) {
    const allot::principal who{user};
    if (!access_.decide(who, quota(to)).allowed) {
      fmt::print("  refused: {}\n", access_.explain(who, quota(to), to));
      return;
    }
    for (int i = 0; i < count; ++i) {
      jobs_.push_back({fmt::format("{}-{}", user, ++submitted_[user]), quota(to), each, priority});
      ids_[&jobs_.back()] = scheduler_.submit(&jobs_.back());
    }
  }

  /// Ends all running jobs of a user.
  void finish(std::string_view user) {
    for (const job& j : jobs_) {
      const auto at = ids_.find(&j);
      if (at == ids_.end() || j.name.rfind(user, 0) != 0) continue;
      if (scheduler_.state(at->second) != allot::job_state::running) continue;
      scheduler_.finished(at->second);
      ids_.erase(at);
    }
  }

  void resize(std::string_view first, int first_gpus, std::string_view second, int second_gpus) {
    const std::array<allot::quota_change<1>, 2> both{
        allot::resize_quota<1>{quota(first), gpus(first_gpus)},
        allot::resize_quota<1>{quota(second), gpus(second_gpus)}};
    const auto over = scheduler_.apply(both);
    for (const auto& p : over.problems()) fmt::print("  {}\n", p.text);
  }

  /// Lets the scheduler decide until nothing more changes, and shows the result.
  void settle() {
    allot::settle(scheduler_, ++now_, [&](const auto& plan) {
      std::map<std::string_view, int> started;
      std::map<std::string_view, int> evicted;
      for (const auto& a : plan.admissions) started[scheduler_.tree().name(a.quota)] += a.what->gpus;
      for (const auto& e : plan.evictions) {
        evicted[scheduler_.tree().name(e.quota)] += e.what->gpus;
        scheduler_.evicted(e.id);
      }
      for (const auto& [name, n] : evicted) fmt::print("  evicted from {}: {} GPUs\n", name, n);
      for (const auto& [name, n] : started) fmt::print("  started on {}: {} GPUs\n", name, n);
    });
    table();
  }

 private:
  void table() const {
    const auto& ledger = scheduler_.ledger();
    const allot::loan_book<1> loans{ledger};
    fmt::print("\n  {:<10}{:>8}{:>9}{:>10}{:>8}{:>9}\n", "quota", "nominal", "in use", "borrowed", "lent",
               "waiting");
    for (const quota_id x : ledger.tree().top_down()) {
      fmt::print("  {:<10}{:>8}{:>9}{:>10}{:>8}{:>9}\n", ledger.tree().name(x),
                 to_string(ledger.tree().spec(x).nominal[0]), to_string(ledger.own_usage(x, 0)),
                 to_string(loans.borrowed(x, 0)), to_string(loans.lent(x, 0)), scheduler_.waiting(x));
    }
    for (const allot::loan& l : loans.loans(0)) {
      fmt::print("  {} uses {} of {}\n", ledger.tree().name(l.borrower), to_string(l.amount),
                 ledger.tree().name(l.lender));
    }
    fmt::print("  {} of {} GPUs are in use\n\n", to_string(scheduler_.places().used()),
               to_string(scheduler_.places().total()));
  }

  scheduler_type scheduler_;
  allot::role_table access_;
  std::deque<job> jobs_;
  std::map<const job*, allot::job_id> ids_;
  std::map<std::string_view, int> submitted_;
  allot::instant now_ = 0;
};

}  // namespace

int main() {
  //! [make]
  auto nodes = allot::gpu::build_cluster({{.name = "node", .count = 16, .gpus = 8}});
  auto made = allot::make_scheduler(allot::pai{}, jobs_of_pai{},
                                    {{.name = "quota1", .nominal = gpus(128)},
                                     {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
                                     {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}},
                                    allot::gpu::inventory{nodes.value()});
  if (!made) return 1;
  //! [make]
  host cluster{std::move(made).value()};

  fmt::print("1. Team C trains on more than its 80 GPUs: it borrows what team B leaves idle.\n");
  cluster.submit("bea", "quota1.1", 8, 4);
  cluster.submit("cem", "quota1.2", 24, 4);
  cluster.settle();

  fmt::print("2. Team B wants all of its 48, for jobs of higher priority: it takes back what C borrows.\n");
  cluster.submit("bob", "quota1.1", 4, 4, 1);
  cluster.settle();

  fmt::print(
      "3. Team A deploys a service of 8 replicas on quota1: it takes 32 GPUs from below, from each its "
      "part.\n");
  cluster.submit("ann", "quota1", 8, 4, 9);
  cluster.settle();

  fmt::print("4. The service goes, and the evicted jobs come back.\n");
  cluster.finish("ann");
  cluster.settle();

  fmt::print("5. An administrator moves 8 GPUs from C to B, who has work for them: usage follows.\n");
  cluster.resize("quota1.1", 56, "quota1.2", 72);
  cluster.submit("bob", "quota1.1", 2, 4, 1);
  cluster.settle();

  fmt::print("6. A member of workspace C tries quota1.1.\n");
  cluster.submit("cora", "quota1.1", 1, 4);
}
