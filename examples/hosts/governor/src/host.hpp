// SPDX-License-Identifier: BSL-1.0
//
// The seam between a governor and what it governs. A host says what has become of its jobs and machines, in
// these terms, and carries out commands. It need not know anything of policies; the governor knows nothing of
// the host.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/facts.hpp"
#include "governor/src/outcome.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace allot_governor {

/// A job as its host has it.
struct job_report {
  enum class stage : std::uint8_t {
    /// It waits, and has nothing.
    waiting,
    /// It was told to start, and does not run yet: what it asked for is its own.
    starting,
    running,
    /// It ends, or is being evicted, and what it has is not free yet.
    leaving,
    /// It is over, and will not wait again.
    ended,
  };

  job_name name{};
  /// Tells it from another job of that name.
  std::string uid{};
  stage at = stage::waiting;
  /// If not: what it has of machines is not free, `where` and of CPU and memory `what`; and that is all.
  bool is_governed = true;

  /// What it asks for. None: it may not run, and `refused` says why.
  std::optional<facts> what{};
  /// While it has its share: what that is, unless it is `what`.
  std::optional<facts> has{};
  std::vector<node_share> where{};
  /// Of its run.
  milliseconds started = 0;
  /// Why it can't run, whatever becomes free.
  std::string refused{};
  /// What keeps it from being tried, nobody knows until when.
  std::string blocked{};
  /// Why it is not ready before `what->ready`, if that is to come.
  std::string not_ready{};

  // For people.

  milliseconds submitted = 0;
  std::string user{};
  /// What its quota is found by: an account, a queue.
  std::string account{};
  std::string title{};
  /// Why the host does not start it though it was told to.
  std::string why_not_started{};
  /// What it shows of the reason that the governor gave last.
  std::string said{};
  std::uint32_t restarts = 0;
};

/// A machine as the host has it.
struct machine_report {
  machine is{};
  /// Whether new jobs may start there; and if not, in which state it is and why, in the host's words.
  bool is_open = true;
  std::string state{"up"};
  std::string why{};

  friend bool operator==(const machine_report&, const machine_report&) = default;
};

/// The quotas, and how jobs are placed.
struct governed_quotas {
  allot::lab::quotas_file file;
  /// What `file` was read from, where the host has a member of its own.
  std::string text{};
  std::string own_key{};
  bool places_jobs = false;
  bool one_pod_a_machine = false;
  /// Whether what quotas count is not only on the machines that are reported.
  bool has_other_machines = false;
  std::vector<std::string> levels{};
};

/// What has changed since the last poll.
struct changes {
  /// New jobs, and those of which something differs.
  std::vector<job_report> jobs{};
  /// Jobs that the host no longer knows.
  std::vector<job_name> gone{};
  /// All machines, if any of them differs.
  std::optional<std::vector<machine_report>> machines{};
  /// If they come from the host.
  std::optional<governed_quotas> quotas{};
  /// The host's clock has shown this time, if it has said so.
  milliseconds seen_at = 0;
  /// Processor time that the host's client took, in microseconds.
  std::int64_t load_us = 0;
};

/// Why a job waits, or leaves.
struct explanation {
  std::string for_operators{};
  std::string for_users{};
  /// The latest start, if it has a reservation.
  std::optional<milliseconds> latest_start{};

  friend bool operator==(const explanation&, const explanation&) = default;
};

/// Something that the governor asks of the host.
struct command {
  enum class kind : std::uint8_t {
    /// The job starts, at once: `admission`, and in words what its quota borrows for it.
    start,
    /// A job that starts or runs leaves, and waits again: `why`, and for whom. It is asked again, from time
    /// to
    /// time, until the host reports that it waits or has ended.
    stop,
    /// Its users are told why it waits: `why`.
    explain,
  };
  kind is{};
  const job_report* job = nullptr;
  decision::admission admission{};
  std::string borrows{};
  explanation why{};
  std::optional<job_name> beneficiary{};
  allot::relation how{};

  /// What became of it: the host fills this in.
  outcome result{};
  /// The job as it is since then, if the host's answer says that.
  std::optional<job_report> after{};
};

class host {
 public:
  host() = default;
  host(const host&) = delete;
  host& operator=(const host&) = delete;
  virtual ~host() = default;

  /// Appends to `to` what has changed since the last successful call; of a call that fails nothing is used.
  /// What it reports of a job is not older than the last command for it that was done. `to.jobs` may name a
  /// job more than once: the last one counts.
  [[nodiscard]] virtual outcome poll(changes& to) = 0;
  /// Each command is for another job, and none waits for another: they may be carried out in any order, or at
  /// the same time.
  virtual void carry_out(std::span<command> all) = 0;
};

}  // namespace allot_governor
