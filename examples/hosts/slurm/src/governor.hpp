// SPDX-License-Identifier: BSL-1.0
//
// The governor: what Slurm says becomes events for allot's scheduler, and what that decides becomes calls to
// Slurm. It knows no libslurm, no clock and no file.
#pragma once

#include "cluster.hpp"
#include "config.hpp"
#include "governor/src/engine.hpp"
#include "governor/src/host_clock.hpp"
#include "governor/src/log.hpp"
#include "governor/src/memory.hpp"
#include "governor/src/snapshot.hpp"
#include "limit_usage.hpp"
#include "reasons.hpp"
#include "request.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_slurm {

/// What the governor needs of its surroundings besides Slurm.
struct surroundings {
  /// Takes the lines of the log.
  decision_log::sink log;
  /// The groups of a job's user, which are its roles.
  std::function<std::vector<std::string>(const job&)> groups;
  /// Takes the log of events, a line of JSON each; empty: there is none.
  std::function<void(const std::string& line)> events{};
  /// Puts on disk what is remembered, before something happens that only the journal knows of.
  std::function<void(const memory&)> remember{};
};

/// The nodes in a job's comment that the governor has excluded for it, and the list of excluded nodes without
/// them.
[[nodiscard]] std::string avoided_nodes(const job& j);
[[nodiscard]] std::string own_exclusions(const job& j);
/// Where a job's comment says that it was admitted: "allot: admitted on n1:8 n2:4; borrows 8 gpu".
[[nodiscard]] std::vector<node_share> places_in(std::string_view comment);
/// Why a job waits, as its admin comment says it, without what only governors read.
[[nodiscard]] std::string told_reason(const job& j);
/// The nodes that a job requires, as a list, if its comment says that the governor has pinned it to them.
[[nodiscard]] std::string pinned_nodes(const job& j);

/// When a job was submitted of which the journal tells.
[[nodiscard]] seconds submitted_of(const job_identity& i);
/// Whether a job as Slurm shows it is that one.
[[nodiscard]] inline bool is_same(const job& now, const job_identity& i) {
  return to_string(now.key) == i.name && was_submitted(now, submitted_of(i));
}

class governor {
 public:
  /// Every text of the governor's own in a comment begins with this.
  static constexpr std::string_view mark = comment_mark;
  /// After it: the job is being taken back, and why.
  static constexpr std::string_view yields = "yields: ";
  /// So begins the admin comment of a job that an operator has started by force.
  static constexpr std::string_view forced_mark = "allot: started by force";

  /// With `observes` it only logs what it would do.
  governor(config c, cluster& slurm, surroundings around, bool observes);
  ~governor();
  governor(const governor&) = delete;
  governor& operator=(const governor&) = delete;

  /// To be called before the first tick: what the journal says.
  void remember(memory m) { remembered_ = std::move(m); }
  /// What to write to the journal.
  [[nodiscard]] memory remembers() const;

  /// Takes another configuration over, with the next tick. Jobs keep their runs and their turn.
  void reconfigure(config c);

  /// While it is frozen nobody is evicted.
  void freeze(bool is_frozen);
  /// Releases a job at once, whatever the scheduler thinks of it; when it runs, it is taken over as it is.
  void start(const job_key& k, const std::string& by);

  /// Takes the log of events, as `surroundings::events`, from the next scheduler on: a log begins with one.
  void log_events(std::function<void(const std::string& line)> to) {
    around_.events = {};
    next_events_ = std::move(to);
  }

  /// Another one was refused, for these reasons: the one before stays in force.
  void note_refused_config(const std::vector<std::string>& problems);

  /// Polls, decides, acts.
  void tick(moment now);

  [[nodiscard]] snapshot snapshot_view() const;
  [[nodiscard]] const config& configuration() const noexcept { return config_; }
  [[nodiscard]] decision_log& log() noexcept { return log_; }
  /// Whether slurmctld answered the last time.
  [[nodiscard]] bool is_away() const noexcept { return is_away_; }
  /// The scheduler; null before the first tick that Slurm answered.
  [[nodiscard]] const engine* scheduler() const noexcept { return engine_.get(); }
  void set_cluster_name(std::string name) { cluster_name_ = std::move(name); }

 private:
  enum class phase : std::uint8_t {
    unknown,
    foreign,
    refused,
    not_ready,
    waiting,
    released,
    running,
    leaving
  };
  struct record {
    job is{};
    phase at = phase::unknown;
    facts what{};
    /// On the steady clock: when it was released, and when it was warned.
    std::int64_t released = 0;
    std::optional<std::int64_t> warned{};
    /// On the steady clock, since when it is being evicted; and whether it has been.
    std::optional<std::int64_t> leaves_since{};
    bool was_evicted = false;
    /// On the wall clock: since when it waits.
    std::int64_t waits_since = 0;
    /// When to call Slurm again after a call failed.
    std::int64_t next_try = 0;
    /// It has run since it was admitted.
    bool has_run = false;
    /// Its restarts when it was released: more of them, and it has run unseen.
    std::uint32_t released_after = 0;
    /// On the wall clock: when its last run began.
    std::int64_t ran_since = 0;
    /// Where it was sent.
    std::vector<node_share> sent_to{};
    /// The nodes of its last run; empty if that was not seen.
    std::vector<std::string> ran_on{};
    /// The wall clock; it is not tried before.
    std::int64_t backs_off_until = 0;
    std::uint32_t failures = 0;
    /// Since it has run, or asked for something else: others were evicted for it; and Slurm did not start it,
    /// so that nobody is evicted for it any more.
    bool had_victims = false;
    bool is_spent = false;
    /// After a failure: what would cure it; if that is room, whether the nodes have it; and when, on the wall
    /// clock, it failed.
    cure needs = cure::room;
    bool saw_room = false;
    std::int64_t failed_at = 0;
    /// It was requeued, not by the governor: it keeps its share until then, on the steady clock.
    std::optional<std::int64_t> settles_until{};
    /// The restarts after which its nodes were given time to clean up.
    std::uint32_t settled_for = 0;
    /// Why it is refused or not ready.
    std::string reason{};
    /// As it was when it was tried last; and whether Slurm found then that it can't run.
    std::optional<job> tried_as{};
    bool is_impossible = false;
    /// No reservation of Slurm's rules out further nodes for it until then; and whether none are left.
    std::int64_t ruled_out_at = allot::without_end;
    bool is_reserved_out = false;
    bool is_dirty = false;
    /// The first reserved start that was logged.
    allot::instant told_start = allot::without_end;
  };
  using records = std::map<job_key, record>;
  /// As the engine names it.
  [[nodiscard]] static job_name name(const record& r) { return to_string(r.is.key); }
  /// Null if Slurm no longer knows it.
  [[nodiscard]] record* find(const job_name& n) { return const_cast<record*>(std::as_const(*this).find(n)); }
  [[nodiscard]] const record* find(const job_name& n) const;
  /// The same, if it is the one that was submitted then.
  [[nodiscard]] record* find(const job_identity& i);
  [[nodiscard]] static job_identity identity_of(const job& j);
  /// GPUs of a node that Slurm counts as used although no job has them.
  struct lost_gpus {
    /// So many for long enough: it is no mere moment between two answers of slurmctld.
    std::uint32_t count = 0;
    /// Of these the scheduler knows.
    bool is_told = false;
    /// What was seen last and, on the steady clock, since when.
    std::uint32_t seen = 0;
    std::int64_t since = 0;
  };

  // What Slurm says (governor_intake.cpp).
  [[nodiscard]] bool take_in(changes&& c);
  void take_in(record& r);
  void take_in_running(record& r);
  void take_in_pending(record& r);
  void take_in_nodes(std::vector<node> now);
  void open_and_close_nodes();
  void find_lost_gpus();
  void take_lost_gpus();
  [[nodiscard]] event lost_on(const std::string& node) const;
  void forget(const job_key& k);
  void evaluate(record& r);
  void clean_up(record& r);
  void take_back_unstarted(record& r);
  void take_in_held(record& r);
  void settle(record& r);
  void settle_all();
  void fail(record& r, cure needs, const std::string& why);
  void end_backoffs();
  [[nodiscard]] std::int64_t reservation_begins_at(const job& j) const;
  [[nodiscard]] bool admits(const node& n, const job& j) const;
  [[nodiscard]] std::int64_t ruled_out_at(const job& j) const;
  void foresee_reservations();
  [[nodiscard]] bool nodes_have_room(const record& r) const;
  [[nodiscard]] std::string why_no_node(const job& j) const;
  [[nodiscard]] bool may_preempt(const record& r) const;
  [[nodiscard]] static bool was_told_to_yield(const job& j);
  [[nodiscard]] bool is_counted(const job_key& task) const;
  [[nodiscard]] bool comes_before_others(const record& r) const;
  [[nodiscard]] std::int64_t ready_at(const record& r) const;
  [[nodiscard]] std::string blocked(const record& r) const;
  [[nodiscard]] std::string unready(const record& r) const;
  [[nodiscard]] std::string not_yet(const record& r) const;
  [[nodiscard]] bool was_requeued(const record& r) const;
  [[nodiscard]] std::optional<facts> facts_of(const job& j, std::string& problem) const;
  [[nodiscard]] bool take_components(const job& j, facts& f, std::string& problem) const;
  /// The nodes of a partition that satisfy a constraint and that `admit` does not rule out, as pools; 0:
  /// there are none. None: the constraint can't be read.
  [[nodiscard]] std::optional<std::uint64_t> pools(
      std::string_view partition, std::string_view constraint,
      const std::function<bool(const node& like)>& admit = {}) const;
  /// What a component needs; `request` grows by what its quota is charged for that.
  [[nodiscard]] std::optional<need> need_of(const job& part, amounts& request, std::string& problem) const;
  [[nodiscard]] std::optional<allot::gpu::pod_request> pods_of(const job& part, amounts& request,
                                                               std::string& problem) const;
  void enter(record& r, phase to);
  /// What the scheduler counts for it is free again, and it waits.
  void give_back(record& r);
  void wait_with(record& r, phase as, std::string reason);

  // Slurm's own limits (governor_limits.cpp).
  void take_limits(limits l);
  void count(const record& r);
  [[nodiscard]] std::string limited(const job& j) const;
  void recheck_limits();

  // Starting over (governor_restart.cpp).
  void start_over();
  void resume(const saved_state& s, allot::delay_cause changed, const std::vector<record*>& holding,
              const std::vector<record*>& waiting);
  void note_adopted(record& r, bool is_news);
  [[nodiscard]] static bool is_older(const record* a, const record* b);
  [[nodiscard]] memory stands() const;
  [[nodiscard]] static std::string own_words(const record& r);
  static void read_own_words(record& r, std::string_view own);
  void adopt(record& r, bool is_news);
  [[nodiscard]] bool was_admitted(const record& r) const;

  // What it does (governor_actions.cpp).
  void act(const decision& d);
  void admit(const decision::admission& a);
  void evict(const decision::eviction& e);
  void push_out(record& r);
  void push_out_all();
  void hold_strays();
  void avoid_nodes(record& r);
  void hold_unstarted();
  void retry_unready();
  void comment_some();
  [[nodiscard]] comments comments_for(const job& j, const std::string& text, const std::string& for_user,
                                      const std::string& avoid = {}) const;
  /// Slurm has been told that; the next poll will say so.
  static void note(job& part, const comments& said);
  /// Makes a call for each component of a job, or for the job itself, until one fails. `make` leaves what the
  /// call says in `say`; it may find that there is none to make.
  using part_call = std::function<std::optional<outcome>(const job& part, comments& say)>;
  [[nodiscard]] outcome call_for_parts(record& r, std::string_view call, const part_call& make);
  [[nodiscard]] std::string nodes_to_avoid(const record& r) const;
  [[nodiscard]] std::string explanation(const record& r, allot::addressee whom) const;
  /// Counts a call, and notes when slurmctld is away.
  [[nodiscard]] bool done(const outcome& o, std::string_view call);

  void set_time(moment now);
  void tell(const event& e);
  void dirty(record& r);

  config config_;
  cluster& slurm_;
  surroundings around_;
  std::function<void(const std::string& line)> next_events_{};
  bool observes_;
  decision_log log_;
  std::string cluster_name_{};
  std::unique_ptr<engine> engine_;
  /// By pool of the engine: the partitions, features and reservations of its nodes.
  std::map<std::string, node, std::less<>> pool_like_{};
  /// Whether a new scheduler is to be made, and what has changed for who waits, if anything.
  std::optional<allot::delay_cause> starts_over_ = allot::delay_cause::none;
  bool is_away_ = false;
  bool is_frozen_ = false;
  std::string why_no_engine_{};
  /// What has been logged of calls that failed.
  std::set<std::string> failures_told_{};
  std::optional<memory> remembered_{};
  std::vector<node> nodes_;
  /// What the largest node has of each, of all and by partition.
  largest_node largest_{};
  std::map<std::string, largest_node> largest_in_{};
  /// Those of Slurm's, by name.
  std::map<std::string, node_reservation> reservations_;
  /// Where nothing may start.
  std::set<std::string> closed_;
  /// By node.
  std::map<std::string, lost_gpus> lost_;
  records records_;
  std::set<job_key> leaving_;
  std::set<job_key> released_;
  std::set<job_key> not_ready_;
  /// Those that keep their share for a moment, as they have been requeued.
  std::set<job_key> settling_;
  /// Pending and not held, although they were not admitted.
  std::set<job_key> strays_;
  /// Those that an operator has started, until they run.
  std::set<job_key> forced_;
  /// How many tasks of an array with a limit the scheduler knows.
  std::map<std::uint32_t, std::set<job_key>> limited_;
  /// Since backoffs were looked at.
  bool some_have_ended_ = false;
  limit_usage limits_;
  /// As of which version those that wait were compared with them.
  std::uint64_t limits_checked_ = 0;
  std::deque<job_key> dirty_;
  job_key next_to_check_{};
  /// What was logged in the last tick; for `observes`.
  std::set<std::string> would_do_;
  host_clock clock_{};
  moment now_{};
  snapshot::totals totals_{};
  std::string refused_config_{};
  snapshot::cost last_{};
};

}  // namespace allot_slurm
