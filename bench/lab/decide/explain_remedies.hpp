// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/decide/decision_maker.hpp"
#include "lab/decide/explain_job.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Finds what would admit a pending job: changes of the scenario, each tried by deciding again.
class remedy_finder {
 public:
  remedy_finder(decision_maker& now, sim::job_index job, std::size_t rounds);

  [[nodiscard]] vector<job_story::remedy> find() &&;

 private:
  static constexpr std::size_t n = max_resources;
  using job_index = sim::job_index;
  using remedy = job_story::remedy;

  struct trial {
    bool admits = false;
    /// Which jobs got what this job was to get, and why it is pending then.
    std::string remark{};
    bool lacks_place = false;
  };
  struct candidate {
    job_index job;
    vector<job_id> units;
  };

  // explain_remedies.cpp: trials, and more for its quota.

  /// The choice of flavors that lacks least.
  [[nodiscard]] static decision_maker::choice best_choice(const decision_maker& in, job_index j);
  [[nodiscard]] trial try_out(const scenario& changed) const;
  /// The jobs that are pending now and would run then.
  [[nodiscard]] vector<std::string> who_would_run(const decision_maker& after) const;
  /// Tries the remedy; if only a place is missing then, also with more nodes.
  void propose(remedy r, scenario& changed);
  [[nodiscard]] std::string amount(const shortfall& l) const;
  /// Grants exactly what the bounds lack: the nearest bound in each dimension if that is enough (a quota that
  /// is given more passes on less), else all of them.
  void lift_bounds();
  void lift(const vector<shortfall>& lacks, bool by_borrowing);
  void let_it_be_preempted();
  /// Lets it preempt whatever its victims lose, if that alone keeps it from it.
  void let_it_preempt();

  // explain_remedies_nodes.cpp

  /// Adds as many nodes as the pods without room need. Returns an empty string if that is none or unknown.
  [[nodiscard]] std::string add_nodes(scenario& to) const;

  // explain_remedies_others.cpp: the absence of other jobs.

  /// Finds the fewest running jobs, in the order of victims, whose eviction makes room, regardless of the
  /// policy's rules: what those allow has been tried already.
  void evict();
  /// Why the policy does not evict this job for ours where so much is used, as far as the rules of their
  /// quotas tell.
  [[nodiscard]] std::string why_not(job_index victim, const ledger<n>& assumed) const;
  /// A job that no bound blocks is behind others in its queue.
  void cancel_those_before();

  decision_maker& now_;
  const scenario& s_;
  job_index job_;
  std::string_view id_;
  std::size_t rounds_;
  quota_id quota_;
  resources<n> request_{};
  gpu::pod_request demand_{};
  vector<shortfall> lacks_;
  bool lacks_place_ = false;
  vector<remedy> found_;
};

/// "a, b and c".
[[nodiscard]] std::string listed_plainly(const vector<std::string>& all);

}  // namespace lab
}  // namespace v0
}  // namespace allot
