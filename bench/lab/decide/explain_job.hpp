// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/decide/decide.hpp"
#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// The state of one job after a decision, and the reasons.
struct job_story {
  enum class fate : std::uint8_t {
    /// It can never run.
    refused,
    waits,
    /// It waits for its victims to end.
    nominated,
    /// Admitted just now.
    starts,
    runs,
    /// Evicted just now.
    yields,
    /// Evicted before.
    leaving,
  };
  /// A bound that its request violates, or the place that it lacks.
  struct lack {
    /// A quota, or "cluster".
    std::string at;
    /// One of the reasons of `decision::pending_job`.
    std::string_view limit;
    /// The scarce resource; empty for a place.
    std::string resource;
    quantity short_by{};
    /// The choice of flavors that this concerns, if there is any: "gpu as h100".
    std::string flavors;
    std::string text;
    /// The first of its pod sets that this concerns; empty if all pods are alike, or none is the first.
    std::string_view pod_set{};
  };
  /// What would admit it.
  struct remedy {
    /// "grant", "borrow", "preempt", "evict", "nodes", "preemptible" or "cancel".
    std::string_view kind;
    /// "team-b has 3 gpu more".
    std::string text;
    /// Whether it does, as found by deciding again.
    bool admits = false;
    /// Why it does not, or why the policy does not do it by itself.
    std::string remark{};
    /// For "evict" and "cancel": the jobs concerned.
    vector<std::string> jobs{};
  };
  /// Capacity of another quota that its quota uses.
  struct loan {
    std::string_view from;
    std::string_view resource;
    quantity amount;
  };
  /// A quota whose jobs may preempt it, and by which rule.
  struct claim {
    std::string_view quota;
    std::string_view reason;
    std::string text;
  };
  /// A quota beside its rivals.
  struct share {
    std::string_view quota;
    bool is_own = false;
    amounts nominal{};
    amounts used{};
    amounts entitled{};
    amounts borrowed{};
    std::int64_t weight_milli = 0;
    ratio borrowed_share{};
  };

  std::string id;
  std::string quota;
  fate is = fate::waits;
  /// What it requests, or has.
  amounts request{};
  vector<flavor_name> flavors{};
  vector<std::string> nodes{};
  /// The pods that run, or would run, by set; empty if all are alike.
  vector<pods_of_set> pod_sets{};
  /// Pods that run, or would run, and the most there could be.
  std::uint64_t pods = 1;
  std::uint64_t most_pods = 1;
  /// The needs of each pod, and of all of them together: "each a MIG instance 1g.5gb", "all in one rack".
  vector<std::string> needs{};
  std::int64_t priority = 0;
  bool preemptible = true;
  /// In a sentence: why it is pending, refused or evicted.
  std::string why{};

  vector<lack> lacks{};
  std::optional<reserved_start> reservation{};
  std::optional<leaving_jobs> leaving{};
  /// Why its quotas never allow it, whatever others do; empty if they may.
  std::string never{};
  /// The job at the head of its queue that no other may pass.
  std::string behind{};
  vector<remedy> remedies{};

  /// For an evicted job: the beneficiary (empty if there is none), the relation and the fairness rule, and
  /// the shares of both sides before the eviction.
  std::string beneficiary{};
  std::string_view reason{};
  verdict rule{};
  std::uint64_t yielding_pods = 0;
  std::optional<share> of_victim{};
  std::optional<share> of_beneficiary{};
  /// The victims of a nominated job, or of a job that others were evicted for.
  vector<std::string> victims{};

  vector<loan> loans{};
  vector<claim> yields_to{};
  vector<share> shares{};
};

/// The story after up to `rounds` cycles. Returns nullopt if there is no such job or the scenario is wrong,
/// and adds the reason to `found`.
[[nodiscard]] std::optional<job_story> explain_job(const scenario& s, std::string_view id, std::size_t rounds,
                                                   errors& found);

/// For people.
[[nodiscard]] std::string to_text(const job_story& story, const scenario& s);
/// For programs.
[[nodiscard]] std::string to_json(const job_story& story, const scenario& s);

/// `allot explain`.
struct explain_options {
  scenario_source source{};
  /// One job; or, if it is empty, what these changes would make otherwise (`explain_changes`).
  std::string job;
  std::vector<std::string> changes{};
  std::size_t rounds = 1;
  bool json = false;
};
/// Returns the exit status.
[[nodiscard]] int run_explain(const explain_options& options);

class decision_maker;

/// What would admit a pending job. Each remedy is tried by deciding again on the changed scenario; for a job
/// with flavors, under the choice that lacks least.
[[nodiscard]] vector<job_story::remedy> find_remedies(decision_maker& now, std::uint32_t job,
                                                      std::size_t rounds);

}  // namespace lab
}  // namespace v0
}  // namespace allot
