// SPDX-License-Identifier: BSL-1.0
//
// What the governor knows after a tick, as plain data: status, page and metrics are written from it alone.
#pragma once

#include "governor/src/facts.hpp"
#include "governor/src/host_words.hpp"
#include "governor/src/orders.hpp"

#include <allot/core/quantity.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot_governor {

/// By resource, in the order of `snapshot::resources`.
using amounts_row = std::vector<allot::quantity>;

/// What a governed job is doing, as the governor sees it.
enum class job_phase : std::uint8_t {
  /// Held until the policy admits it.
  waiting,
  /// It may not run: its account has no quota, its user may not submit to it, or it can never fit.
  refused,
  /// It is not ready: its dependencies are not met, its begin time has not come, or it backs off.
  not_ready,
  /// Admitted and released; the host has not started it yet.
  released,
  running,
  /// It has been warned, and is requeued after the grace period.
  leaving,
};
/// The names in status, page and metrics.
inline constexpr std::array<const char*, 6> job_phase_names{"waiting",  "refused", "not_ready",
                                                            "released", "running", "leaving"};

struct snapshot {
  struct quota {
    std::string name;
    /// An index into `quotas`; none for a root.
    std::optional<std::size_t> parent{};
    /// What the file says, and what it is entitled to by the policy's division now.
    amounts_row nominal{};
    amounts_row entitled{};
    /// Of the jobs in its subtree, those that leave included.
    amounts_row used{};
    /// Of its own jobs: what they use of other quotas' pools, and what others use of its own.
    amounts_row borrowed{};
    amounts_row lent{};
    /// Requests of its own jobs that wait.
    amounts_row requested{};
    /// Its weighted share of what it could borrow, in parts of one; the policy compares the exact ratio.
    double share = 0;
    /// Its own jobs.
    std::size_t running = 0;
    /// Released, and the host has not started them yet.
    std::size_t released = 0;
    std::size_t waiting = 0;
  };
  struct job {
    /// The host's word for it: "123_4", "team-a/train". The other texts are the users': escape them.
    std::string id;
    std::string name{};
    std::string user{};
    std::string account{};
    /// An index into `quotas`; none if the account has no quota.
    std::optional<std::size_t> quota{};
    job_phase phase = job_phase::waiting;
    /// Empty: it can't be read.
    amounts_row request{};
    /// Of a heterogeneous job, in the order of its components; of another one none.
    struct component {
      std::size_t nodes = 0;
      /// Of all its nodes together.
      amounts_row request{};
    };
    std::vector<component> components{};
    bool preemptible = true;
    milliseconds submitted = 0;
    /// Of the run, while it has one.
    milliseconds started = 0;
    /// When its time limit ends the run; 0: unknown.
    milliseconds ends = 0;
    std::vector<std::string> nodes{};
    /// Why it waits or may not run, in a sentence; empty if that is not known yet.
    std::string reason{};
    /// The latest start, if it holds a reservation.
    std::optional<milliseconds> latest_start{};
    /// Of a job that leaves: the job that it makes room for, or empty.
    std::string beneficiary{};
    /// How often the host has started it again.
    std::uint32_t restarts = 0;
    /// Since when it is what it is: of those that wait, since its submission.
    milliseconds since = 0;
    /// How many have their turn before it in its quota; none if it does not wait, or that was not asked.
    std::optional<std::uint64_t> before{};
    /// What it shows of the reason at the host, and why the host does not start it, in the host's word.
    std::string comment{};
    std::string host_reason{};
  };
  struct node {
    std::string name;
    /// "up", "down", "drained" or "reserved".
    std::string state{};
    std::size_t gpus = 0;
    struct use {
      /// Without a quota: a job that is not governed.
      std::string job{};
      std::optional<std::size_t> quota{};
      std::size_t gpus = 0;
    };
    std::vector<use> used{};
    /// What the host counts as used although no job has it.
    std::size_t lost_gpus = 0;
    /// Why it is down or drained, as the host has it.
    std::string why{};
  };
  /// What one quota's jobs use of another's pool.
  struct loan {
    std::size_t resource = 0;
    std::size_t lender = 0;
    std::size_t borrower = 0;
    allot::quantity amount{};
  };
  /// A job that is next: when those it waits for have left, or at a time.
  struct reservation {
    std::string job;
    std::size_t quota = 0;
    /// The jobs that leave for it.
    std::vector<std::string> waits_for{};
    /// The latest start, and the first one; none if it only waits for those that leave.
    std::optional<milliseconds> start{};
    std::optional<milliseconds> first_start{};
    /// Why the start is later than the first one; empty if it is not.
    std::string cause{};
  };
  /// Since the governor started.
  struct totals {
    std::uint64_t ticks = 0;
    std::uint64_t released = 0;
    /// How long those that were released have waited for that, from their submission or their last run on.
    std::int64_t waited_ms = 0;
    std::uint64_t warned = 0;
    std::uint64_t requeued = 0;
    /// Evictions of jobs that had been evicted before; those that have left, and how long they took from the
    /// decision on.
    std::uint64_t evicted_again = 0;
    std::uint64_t reclaimed = 0;
    std::int64_t reclaim_ms = 0;
    /// Jobs that someone else had released and the governor held again, or that ran before it could.
    std::uint64_t held_again = 0;
    std::uint64_t ran_unasked = 0;
    std::uint64_t refused = 0;
    /// Jobs that were released, and that the host did not start.
    std::uint64_t failed_starts = 0;
    /// Configurations that were read at a signal and refused.
    std::uint64_t reloads_refused = 0;
    std::uint64_t adopted = 0;
    /// Calls to the host that change something, and those that failed.
    std::uint64_t calls = 0;
    std::uint64_t failed_calls = 0;
    /// Ticks in which the host did not answer.
    std::uint64_t away = 0;
    /// Sums of `cost`.
    std::int64_t load_us = 0;
    std::int64_t tick_us = 0;
  };
  /// Of the last tick: processor time in microseconds, by the host's client and by everything else,
  /// and the calls.
  struct cost {
    std::int64_t load_us = 0;
    std::int64_t tick_us = 0;
    std::size_t calls = 0;
  };

  host_words words{};
  std::string cluster{};
  std::string policy{};
  milliseconds now = 0;
  /// Nothing is touched: decisions are only logged.
  bool observes = false;
  /// The host does not answer; what follows is what was known last.
  bool is_away = false;
  /// Nobody is evicted.
  std::optional<freeze_order> frozen{};
  /// That the configuration file was refused at the last reload, and why; empty if it is in force.
  std::string refused_config{};
  std::vector<std::string> resources{};
  /// In the order of the configuration file.
  std::vector<quota> quotas{};
  /// How many governed jobs there are, by phase.
  std::array<std::size_t, job_phase_names.size()> phases{};
  /// Of those that are not ready, how many back off because a start failed.
  std::size_t backing_off = 0;
  /// Those that run or leave first, then those that wait; each by submission. At most `most_waiting` that
  /// wait are listed.
  std::vector<job> jobs{};
  static constexpr std::size_t most_waiting = 1000;
  std::vector<node> nodes{};
  std::vector<loan> loans{};
  std::vector<reservation> reservations{};
  totals since_start{};
  cost last{};
  /// The last lines of the log, oldest first.
  std::vector<std::string> log{};
};

}  // namespace allot_governor
