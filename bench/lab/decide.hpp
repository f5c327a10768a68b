// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/scenario.hpp"

#include <allot/core/ratio.hpp>
#include <allot/preemption/guard.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// The flavor in which a job has a resource: "h100" of "gpu".
struct flavor_name {
  std::string_view resource;
  std::string flavor;
};

/// What `allot decide` says, in the order and under the names of its JSON (see README.md). The texts of jobs
/// and quotas are those of the scenario, which has to live as long.
struct decision {
  struct admission {
    std::string_view id;
    quota_id quota;
    std::uint64_t pods = 0;
    /// Of each pod; empty without a cluster. The pods that an elastic job gets in one cycle are one row.
    std::vector<std::string_view> nodes{};
    std::vector<flavor_name> flavors{};
    amounts borrows{};
  };
  struct eviction {
    std::string_view id;
    quota_id quota;
    std::uint64_t pods = 0;
    /// Nothing when nobody in particular needs it gone: `reason` says why it goes.
    std::string_view beneficiary;
    std::string_view reason;
    /// The rule of fairness that was asked, if one was, and the shares of both sides that it compared.
    verdict why{};
  };
  struct reservation {
    std::string_view id;
    quota_id quota;
    /// Its own victims; if it has none, everyone who has been told to go.
    std::vector<std::string_view> waits_for{};
  };
  struct pending_job {
    std::string_view id;
    quota_id quota;
    std::string reason;
    /// The quota that stops it, or "cluster".
    std::string at;
    /// Of what there is too little, and how much; nothing when that is not why it waits.
    std::optional<std::string_view> resource{};
    quantity short_by{};
    std::string text{};
  };
  struct refusal {
    std::string_view id;
    quota_id quota;
    std::string reason;
    std::string text;
  };
  struct account {
    quota_id quota;
    /// Of the jobs in its subtree, those that are told to go included.
    amounts used{};
    amounts entitled{};
    /// Of its own jobs, and of its own pool.
    amounts borrowed{};
    amounts lent{};
    /// The weighted share of what it could borrow that it borrows.
    ratio share{};
  };

  /// The number of cycles until nothing more was decided, at least 1.
  std::size_t rounds = 1;
  std::vector<admission> admit{};
  std::vector<eviction> evict{};
  std::vector<reservation> reserve{};
  /// By submission, then id: every job that waits in the end and is not reserved.
  std::vector<pending_job> pending{};
  std::vector<refusal> refuse{};
  std::vector<account> quotas{};
};

/// Up to `rounds` cycles on the jobs of the scenario, whenever they are submitted: those that run are where
/// the scenario says (or where the policy puts them), and between two cycles the evicted go and the admitted
/// start. Events are not looked at. Nothing when a running job does not fit where it is said to stand.
[[nodiscard]] std::optional<decision> decide(const scenario& s, std::size_t rounds, errors& found);

/// The name of a rule of fairness in the files: "final_share"; empty of none.
[[nodiscard]] std::string_view word_of_rule(fairness_rule rule) noexcept;

/// The JSON that README.md tells of.
[[nodiscard]] std::string to_json(const decision& d, const scenario& s);

/// `allot decide`.
struct decide_options {
  scenario_source source{};
  std::size_t rounds = 1;
};
/// Returns the exit status: the decision is on standard output, or errors are on standard error.
[[nodiscard]] int run_decide(const decide_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
