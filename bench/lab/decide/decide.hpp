// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/scheduler/reservation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The flavor in which a job has a resource: "h100" of "gpu".
struct flavor_name {
  std::string_view resource;
  std::string flavor;
};

/// When a job starts that holds a reservation with a time.
struct reserved_start {
  reservation what{};
  /// The id of `what.after`; empty for none.
  std::string after;
  /// As planned now, one for each pod; empty if that is not known.
  vector<std::string_view> nodes{};
  std::string text;
};
/// As an object.
void write(json_writer& to, const reserved_start& p);

/// Evictions under way that are in the way of a pending job: `departures`, by the ids of the scenario.
struct leaving_jobs {
  std::string_view job;
  std::string_view beneficiary;
  std::size_t others = 0;
  /// None for a place.
  std::optional<quantity> amount{};
  bool is_held = false;
};
/// As an object.
void write(json_writer& to, const leaving_jobs& p);

/// The result of `allot decide`, in the order and under the names of its JSON (see README.md). The texts of
/// jobs and quotas belong to the scenario, which must outlive it.
struct decision {
  struct pod_set {
    std::string_view name;
    std::uint64_t pods = 0;
    vector<flavor_name> flavors{};
  };
  struct admission {
    std::string_view id;
    quota_id quota;
    std::uint64_t pods = 0;
    /// One for each pod; empty without a cluster. The pods that an elastic job gets in one cycle are one row.
    vector<std::string_view> nodes{};
    vector<flavor_name> flavors{};
    amounts borrows{};
    /// Of a job whose pods differ.
    vector<pod_set> sets{};
  };
  struct eviction {
    std::string_view id;
    quota_id quota;
    std::uint64_t pods = 0;
    /// Empty if there is no beneficiary: `reason` then says why it is evicted.
    std::string_view beneficiary;
    std::string_view reason;
    /// The fairness rule that was applied, if any, and the shares of both sides that it compared.
    verdict why{};
  };
  struct reservation {
    std::string_view id;
    quota_id quota;
    /// Its own victims; if it has none, all jobs being evicted.
    vector<std::string_view> waits_for{};
  };
  struct pending_job {
    std::string_view id;
    quota_id quota;
    std::string reason;
    /// The quota that blocks it, or "cluster".
    std::string at;
    /// The scarce resource, and the missing amount; none if that is not why it is pending.
    std::optional<std::string_view> resource{};
    quantity short_by{};
    std::string text{};
    std::optional<reserved_start> reservation{};
    std::optional<leaving_jobs> leaving{};
    /// Why its quotas never allow it, whatever others do; empty if they may.
    std::string never{};
  };
  struct refusal {
    std::string_view id;
    quota_id quota;
    std::string reason;
    std::string text;
  };
  struct account {
    quota_id quota;
    /// Of the jobs in its subtree, including those being evicted.
    amounts used{};
    amounts entitled{};
    /// What its own jobs borrow, and what its own pool lends.
    amounts borrowed{};
    amounts lent{};
    /// The weighted share that it borrows of what it could borrow.
    ratio share{};
  };

  /// The number of cycles until nothing more was decided, at least 1.
  std::size_t rounds = 1;
  vector<admission> admit{};
  vector<eviction> evict{};
  vector<reservation> reserve{};
  /// By submission, then id: all jobs that are pending in the end and not reserved.
  vector<pending_job> pending{};
  vector<refusal> refuse{};
  vector<account> quotas{};
};

/// Runs up to `rounds` cycles on the jobs of the scenario, whatever their submission time. Running jobs are
/// placed where the scenario says (or where the policy puts them). Between two cycles, evicted jobs end and
/// admitted jobs start. Events are ignored. Returns nullopt if a running job does not fit where the scenario
/// places it.
[[nodiscard]] std::optional<decision> decide(const scenario& s, std::size_t rounds, errors& found);

/// The name of a fairness rule in the files: "final_share"; empty for none.
[[nodiscard]] std::string_view word_of_rule(fairness_rule rule) noexcept;

/// The JSON described in README.md.
[[nodiscard]] std::string to_json(const decision& d, const scenario& s);

/// `allot decide`.
struct decide_options {
  scenario_source source{};
  std::size_t rounds = 1;
};
/// Returns the exit status. The decision is on standard output, or the errors are on standard error.
[[nodiscard]] int run_decide(const decide_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
