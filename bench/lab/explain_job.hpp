// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/decide.hpp"
#include "lab/errors.hpp"
#include "lab/scenario.hpp"

#include <allot/core/ratio.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// How it stands with one job after a decision, and why.
struct job_story {
  enum class fate : std::uint8_t {
    /// It never can run.
    refused,
    waits,
    /// It waits for others who were told to go for it.
    reserved,
    /// It was admitted just now.
    starts,
    runs,
    /// It was told to go just now.
    yields,
    /// It was told to go before.
    leaving,
  };
  /// A bound that its request breaks, or the place that it lacks.
  struct lack {
    /// A quota, or "cluster".
    std::string at;
    /// As the reasons of `decision::pending_job`.
    std::string_view limit;
    /// Of what there is too little; of a place nothing.
    std::string resource;
    quantity short_by{};
    /// Under which choice of flavors, if it has any: "gpu as h100".
    std::string flavors;
    std::string text;
  };
  /// What would admit it.
  struct remedy {
    /// "grant", "borrow", "evict", "nodes", "preemptible" or "cancel".
    std::string_view kind;
    /// "team-b has 3 gpu more".
    std::string text;
    /// Whether it does, as found by deciding again.
    bool admits = false;
    /// Why it does not, or why the policy does not do it by itself.
    std::string remark{};
    /// Of "evict" and "cancel": which jobs.
    std::vector<std::string> jobs{};
  };
  /// Capacity of another quota that its quota uses.
  struct loan {
    std::string_view from;
    std::string_view resource;
    quantity amount;
  };
  /// Who may make it go, and by which rule.
  struct claim {
    std::string_view quota;
    std::string_view reason;
    std::string text;
  };
  /// How a quota stands beside its rivals.
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
  /// What it asks for, or has.
  amounts request{};
  std::vector<flavor_name> flavors{};
  std::vector<std::string> nodes{};
  /// Pods that run, or would, and how many there could be.
  std::uint64_t pods = 1;
  std::uint64_t most_pods = 1;
  /// What each of them needs, and all of them together: "each a MIG instance 1g.5gb", "all in one rack".
  std::vector<std::string> needs{};
  std::int32_t priority = 0;
  bool preemptible = true;
  /// In a sentence: why it waits, is refused or yields.
  std::string why{};

  std::vector<lack> lacks{};
  /// The job at the head of its queue that no other may pass.
  std::string behind{};
  std::vector<remedy> remedies{};

  /// Of a job that yields: for whom (nobody in particular: empty), by which relation and rule of fairness,
  /// and the shares of both sides as they were before.
  std::string beneficiary{};
  std::string_view reason{};
  verdict rule{};
  std::uint64_t yielding_pods = 0;
  std::optional<share> of_victim{};
  std::optional<share> of_beneficiary{};
  /// Of a reserved job, and of one that others went for: those.
  std::vector<std::string> victims{};

  std::vector<loan> loans{};
  std::vector<claim> yields_to{};
  std::vector<share> shares{};
};

/// After up to `rounds` cycles; nothing when there is no such job, or the scenario is wrong, and then `found`
/// says what.
[[nodiscard]] std::optional<job_story> explain_job(const scenario& s, std::string_view id, std::size_t rounds,
                                                   errors& found);

/// For a person.
[[nodiscard]] std::string to_text(const job_story& story, const scenario& s);
/// For a program.
[[nodiscard]] std::string to_json(const job_story& story, const scenario& s);

/// `allot explain`.
struct explain_options {
  scenario_source source{};
  std::string job;
  std::size_t rounds = 1;
  bool json = false;
};
/// Returns the exit status.
[[nodiscard]] int run_explain(const explain_options& options);

class decision_maker;

/// What would admit a waiting job, each tried by deciding again on a scenario that is changed so; of a job
/// with flavors under the choice that lacks least.
[[nodiscard]] std::vector<job_story::remedy> find_remedies(decision_maker& now, std::uint32_t job,
                                                           std::size_t rounds);

}  // namespace lab
}  // namespace v0
}  // namespace allot
