// SPDX-License-Identifier: BSL-1.0
//
// Slurm as a host: its jobs and nodes as the governor has them, and what the governor decides as calls. A job
// waits held, and starts by a release; one that yields is warned, requeued and held. It knows no libslurm, no
// clock and no file.
#pragma once

#include "cluster.hpp"
#include "comments.hpp"
#include "config.hpp"
#include "governor/src/host.hpp"
#include "governor/src/host_clock.hpp"
#include "governor/src/log.hpp"
#include "job_facts.hpp"
#include "limit_usage.hpp"
#include "machines.hpp"
#include "reasons.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_slurm {

class slurm_host final : public host {
 public:
  /// With `observes` it makes no calls.
  slurm_host(config c, cluster& slurm, job_facts::groups_of groups, bool observes);

  /// Takes what this host has to say; to be called first of all.
  void log_to(decision_log& log) { log_ = &log; }
  [[nodiscard]] const config& configuration() const noexcept { return config_; }
  /// With the next poll.
  void reconfigure(config c);
  /// It is now so late. To be called before each tick.
  void step(moment now);

  [[nodiscard]] outcome poll(changes& to) override;
  void carry_out(std::span<command> all) override;
  void remember(memory& to) const override;
  void recall(const memory& of) override;
  void stands(const job_report& job, std::optional<job_phase> at) override;
  [[nodiscard]] bool shows(const job_report& job, const explanation& why) const override;
  void describe(snapshot& to) const override;

 private:
  using stage = job_report::stage;
  /// How long a job that was requeued is kept back, and a node that has just started: slurmd revokes the
  /// credential of the run that has ended a moment later, is told to end what ran there before the node
  /// failed when it is back, and would end a new run of the same job with the old one.
  static constexpr std::int64_t settle_ms = 3000;

  /// Times are on the steady clock, unless they say otherwise.
  struct record {
    job is{};
    bool is_governed = false;
    stage at = stage::waiting;
    /// How the governor sees it.
    std::optional<job_phase> phase{};
    /// Whether it is one of the tasks of an array with a limit that the scheduler knows.
    bool is_counted = false;
    /// A call of it failed: when to try again.
    std::int64_t next_try = 0;

    // While it is released, and has not been seen to run.

    std::int64_t released = 0;
    /// Its restarts then: more of them, and it has run unseen.
    std::uint32_t released_after = 0;
    std::vector<node_share> sent_to{};
    /// Nobody knows whether it was released.
    bool is_in_doubt = false;
    /// Pending and not held, although it was not admitted; or because an operator has started it.
    bool is_stray = false;
    bool is_forced = false;

    // Its last run.

    milliseconds ran_since = 0;
    /// Of the last run that was seen: its nodes, and the restarts before it. More than one since then, and
    /// another was not seen.
    std::vector<std::string> ran_on{};
    std::uint32_t ran_after = 0;

    /// It is to leave: why, for whom, and when it was warned.
    struct order {
      std::string why{};
      job_name for_whom{};
      std::optional<std::int64_t> warned{};
    };
    std::optional<order> leaves{};
    /// It was requeued, not by the governor, and keeps its share until then.
    std::optional<std::int64_t> settles_until{};
    /// The restarts after which its nodes were given time to clean up; and until when, on the wall clock.
    std::uint32_t settled_for = 0;
    milliseconds settles_wall = 0;

    // Starts that failed.

    std::optional<bool> has_failed{};
    std::string why_failed{};
    /// Since it has run, or asked for something else: others were evicted for it; and Slurm did not start it,
    /// so that nobody is evicted for it any more.
    bool had_victims = false;
    bool is_spent = false;
    /// What would cure it; if that is room, whether the nodes have it; and when, on the wall clock, it
    /// failed.
    cure needs = cure::room;
    bool saw_room = false;
    milliseconds failed_at = 0;
    /// As it was when it was tried last; and whether Slurm found then that it can't run.
    std::optional<job> tried_as{};
    bool is_impossible = false;

    // As it was reported last.

    facts what{};
    bool is_told = true;
    std::string blocked{};
    /// No reservation of Slurm's rules out further nodes for it until then.
    milliseconds ruled_out_at = allot::without_end;
  };
  /// GPUs of a node that Slurm counts as used although no job has them.
  struct lost_gpus {
    /// So many for long enough: it is no mere moment between two answers of slurmctld.
    std::uint32_t count = 0;
    /// Of these the governor knows.
    bool is_told = false;
    /// What was seen last, and since when.
    std::uint32_t seen = 0;
    std::int64_t since = 0;
  };
  /// What a governor before this one remembered of a job.
  struct recalled {
    seconds submitted = 0;
    std::string own{};
    bool has_failed = false;
    bool leaves = false;
    /// On the wall clock.
    milliseconds warned = 0;
  };

  // What Slurm says (slurm_host_intake.cpp).
  void take_in_cluster(cluster_changes&& c);
  void take_in_nodes(std::vector<node> now);
  void read_machines();
  void close_nodes();
  [[nodiscard]] const recalled* was(const job& j) const;
  void take_in(record& r, bool is_first);
  void take_in_first(record& r);
  void take_in_running(record& r);
  void take_in_pending(record& r);
  void take_back_unstarted(record& r);
  void take_in_held(record& r);
  void fail(record& r, cure needs, const std::string& why);
  void settle_all();
  void find_cured(std::vector<job_name>& to);
  void find_lost_gpus();
  void find_changed();
  void forget(const job_key& k);
  void file(record& r);
  void count(record& r);
  [[nodiscard]] const record* find(const job_name& n) const;
  [[nodiscard]] record* find(const job_name& n) { return const_cast<record*>(std::as_const(*this).find(n)); }
  [[nodiscard]] static job_name name(const record& r) { return to_string(r.is.key); }
  [[nodiscard]] static bool has_share(const record& r) { return r.is_governed && r.at != stage::waiting; }

  // What the governor is told (slurm_host_reports.cpp).
  [[nodiscard]] job_report report(record& r);
  void report_waiting(record& r, job_report& j);
  void report_machines(changes& to);
  [[nodiscard]] milliseconds ready_at(const record& r) const;
  [[nodiscard]] std::string blocked(const record& r) const;
  [[nodiscard]] std::string limited(const job& j) const;
  [[nodiscard]] bool comes_before_others(const record& task) const;
  [[nodiscard]] bool may_preempt(const record& r) const;
  [[nodiscard]] bool shares(const record& r, const record& with) const;
  [[nodiscard]] std::string nodes_to_avoid(const record& r) const;

  // What it does (slurm_host_calls.cpp).
  void tend();
  void release(record& r, command& c);
  void force(record& r, command& c);
  void stop(record& r, command& c);
  void explain(record& r, command& c);
  void push_out(record& r);
  void hold_strays();
  void hold_unstarted();
  void avoid_nodes(record& r);
  /// Makes a call for each component of a job, or for the job itself, until one fails. `make` leaves what the
  /// call says in `say`; it may find that there is none to make.
  using part_call = std::function<std::optional<outcome>(const job& part, comments& say)>;
  [[nodiscard]] outcome call_for_parts(record& r, std::string_view call, const part_call& make);
  /// Counts a call, and notes when slurmctld is away.
  [[nodiscard]] bool done(const outcome& o, std::string_view call);
  void log(std::string_view word, decision_log::fields values) { (*log_)(word, values); }

  config config_;
  cluster& slurm_;
  bool observes_;
  decision_log* log_ = nullptr;
  host_clock clock_{};
  moment now_{};
  job_facts facts_;
  limit_usage limits_{};
  /// As of which version those that wait were compared with them.
  std::uint64_t limits_checked_ = 0;
  bool is_away_ = false;
  bool are_quotas_news_ = true;
  bool are_nodes_news_ = false;
  bool some_have_ended_ = false;
  std::map<job_key, record> records_{};
  /// By job; empty once all that Slurm knows has been seen.
  std::map<job_name, recalled> recalled_{};
  /// Those that the governor is to be told of.
  std::set<job_key> changed_{};
  std::set<job_name> gone_{};
  /// See `file`.
  std::set<job_key> starting_{};
  std::set<job_key> leaving_{};
  std::set<job_key> settling_{};
  std::set<job_key> strays_{};
  std::set<job_key> failing_{};
  std::set<job_key> blocked_{};
  /// How many tasks of an array with a limit the scheduler knows.
  std::map<std::uint32_t, std::size_t> counted_{};
  /// As they were reported last.
  std::vector<machine_report> machines_{};
  machines known_{};
  /// Where nothing may start.
  std::set<std::string> closed_{};
  /// By node.
  std::map<std::string, lost_gpus> lost_{};
  failed_calls failed_calls_{};
  snapshot::totals totals_{};
  std::size_t calls_ = 0;
};

}  // namespace allot_slurm
