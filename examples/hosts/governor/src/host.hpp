// SPDX-License-Identifier: BSL-1.0
//
// The seam between a governor and what it governs. A host says what has become of its jobs and machines, in
// these terms, and carries out commands. It need not know anything of policies; the governor knows nothing of
// the host.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/facts.hpp"
#include "governor/src/memory.hpp"
#include "governor/src/outcome.hpp"
#include "governor/src/snapshot.hpp"

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
  /// If not: what it has of machines is not free, and that is all.
  bool is_governed = true;

  /// What it asks for. None: it may not run, and `refused` says why. Pools and models of its pods are bits,
  /// in the order in which the machines first name them.
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
  /// If machines are kept from it for a time: what it asks for when they are not, and why they are. If only
  /// that could ever have a place, it waits.
  std::optional<facts> later{};
  std::string why_later{};
  /// Of one that leaves: nobody has told it to. It waits again soon, and its share is kept for it until then:
  /// who borrowed that would have to give it back at once. `not_ready` says why.
  bool keeps_share = false;
  /// Of one that waits again: whether its start failed, so that it is tried later, each time later. None: if
  /// it was not seen to run.
  std::optional<bool> has_failed{};
  /// An operator has started it, so it is no surprise that it runs.
  bool was_forced = false;

  // For people.

  milliseconds submitted = 0;
  std::string user{};
  /// What its quota is found by: an account, a queue.
  std::string account{};
  std::string title{};
  /// Why the host does not start it though it was told to, or why that failed.
  std::string why_not_started{};
  /// What it shows of the reason that the governor gave last.
  std::string said{};
  /// Whether it is told a reason of its own: of jobs that share a place for it only the first is.
  bool is_told = true;
  std::uint32_t restarts = 0;
};

/// A machine as the host has it.
struct machine_report {
  machine is{};
  /// Whether new jobs may start there; and if not, in which state it is and why, in the host's words.
  bool is_open = true;
  std::string state{"up"};
  std::string why{};
  /// Of its GPUs those that can't be used although no job has them.
  std::uint32_t lost_gpus = 0;

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
};

/// What has changed since the last poll.
struct changes {
  /// New jobs, and those of which something differs.
  std::vector<job_report> jobs{};
  /// Jobs that the host no longer knows.
  std::vector<job_name> gone{};
  /// Jobs whose start had failed and that need not wait any longer: what they lacked may be there.
  std::vector<job_name> cured{};
  /// All machines, if any of them differs, with the levels of their network, from coarse to fine.
  std::optional<std::vector<machine_report>> machines{};
  std::vector<std::string> levels{};
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
    /// The same though nobody has decided it: an operator, `by`, wants it. It may wait until the host has
    /// room for it, and is `blocked` until then.
    force,
    /// A job that starts or runs leaves, and waits again: `why`, and for whom. It is asked again, from time
    /// to time, until the host reports that it leaves, waits or has ended.
    stop,
    /// Its users are told why it waits: `why`.
    explain,
  };
  kind is{};
  const job_report* job = nullptr;
  decision::admission admission{};
  std::string borrows{};
  std::string by{};
  explanation why{};
  std::optional<job_name> beneficiary{};
  allot::relation how{};

  /// What became of it: the host fills this in, and may clear `admission.where` if it chooses the machines.
  outcome result{};
  /// The host has a log of what it did.
  bool is_logged = false;
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

  /// @{
  /// For hosts that have more to say, or need to know more.

  /// Adds what the host knows and its system can't show, as `own` of the job's entry in `backoffs`, which may
  /// be there already; and takes in what was remembered, before the first poll of who goes on from there.
  virtual void remember(memory& /*to*/) const {}
  virtual void recall(const memory& /*of*/) {}
  /// How the governor sees a job from now on; none: it is not governed, or no longer known. A host that has
  /// limits of its own, of which the quotas know nothing, counts by that, and reports as `blocked` who would
  /// exceed them.
  virtual void stands(const job_report& /*job*/, std::optional<job_phase> /*at*/) {}
  /// Whether a job shows that already.
  [[nodiscard]] virtual bool shows(const job_report& job, const explanation& why) const {
    return why.for_users == job.said;
  }
  /// Adds what only the host knows to what is shown.
  virtual void describe(snapshot& /*to*/) const {}
  /// @}
};

}  // namespace allot_governor
