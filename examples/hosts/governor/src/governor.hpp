// SPDX-License-Identifier: BSL-1.0
//
// The governor: what a host reports becomes events for allot's scheduler, and what that decides becomes
// commands for the host. It knows no clock and no file.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/host.hpp"
#include "governor/src/host_clock.hpp"
#include "governor/src/log.hpp"
#include "governor/src/memory.hpp"
#include "governor/src/snapshot.hpp"

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
#include <vector>

namespace allot_governor {

/// What the governor needs of its surroundings besides the host.
struct surroundings {
  /// Takes the lines of the log.
  decision_log::sink log{};
  /// Takes the log of events, a line of JSON each; empty: there is none.
  std::function<void(const std::string& line)> events{};
  /// Puts on disk what is remembered, before something happens that only the journal knows of.
  std::function<void(const memory&)> remember{};
};

struct governor_options {
  /// For status, page and metrics.
  host_words words{};
  /// Whether it only logs what it would do.
  bool observes = false;
  /// How many jobs are told in one tick why they wait.
  std::size_t explanations_per_tick = 10;
  /// After how many starts no more are decided in one tick: a host that has much to do must answer all of
  /// them in time.
  std::size_t starts_per_tick = 40;
};

class governor {
 public:
  governor(governor_options options, host& of, surroundings around);
  ~governor();
  governor(const governor&) = delete;
  governor& operator=(const governor&) = delete;

  /// To be called before the first tick: what the journal says.
  void remember(memory m) {
    host_.recall(m);
    remembered_ = std::move(m);
  }
  /// What to write to the journal.
  [[nodiscard]] memory remembers() const;

  /// Takes other quotas over, with the next tick; a host may report them instead. Jobs keep their runs and
  /// their turn.
  void reconfigure(governed_quotas q);
  /// While it is frozen nobody is evicted.
  void freeze(bool is_frozen);
  /// An operator wants a job to start, whatever the scheduler thinks of it; when it runs, it is taken over as
  /// it is.
  void start(const job_name& name, const std::string& by);
  /// Takes the log of events, as `surroundings::events`, from the next scheduler on: a log begins with one.
  void log_events(std::function<void(const std::string& line)> to) {
    around_.events = {};
    next_events_ = std::move(to);
  }
  /// The host reports what its configuration says now; and other quotas were refused, for these reasons:
  /// those before stay in force.
  void accept_config() { refused_config_.clear(); }
  /// See `governor_options`.
  void explain_per_tick(std::size_t most) { options_.explanations_per_tick = most; }
  void note_refused_config(const std::vector<std::string>& problems);

  /// Polls, decides, acts.
  void tick(moment now);
  /// When the next tick has something to do though nothing is reported; none: never.
  [[nodiscard]] std::optional<milliseconds> wakes_at();

  [[nodiscard]] snapshot snapshot_view();
  [[nodiscard]] decision_log& log() noexcept { return log_; }
  /// Whether the host answered the last time.
  [[nodiscard]] bool is_away() const noexcept { return is_away_; }
  /// The scheduler; null as long as there are no quotas, or the host has not answered.
  [[nodiscard]] const engine* scheduler() const noexcept { return engine_.get(); }
  void set_cluster_name(std::string name) { cluster_name_ = std::move(name); }

 private:
  enum class phase : std::uint8_t {
    unknown,
    /// It is not governed, and has machines.
    foreign,
    refused,
    /// It may not be tried now.
    not_ready,
    waiting,
    /// It was told to start.
    released,
    running,
    leaving,
  };
  struct record {
    job_report is{};
    phase at = phase::unknown;
    /// What the scheduler knows.
    facts told{};
    /// On the steady clock: since when it is what it is, and before when the host is not asked again.
    std::int64_t since = 0;
    std::int64_t next_try = 0;
    /// On the steady clock, since when it leaves.
    std::optional<std::int64_t> leaves_since{};
    bool was_evicted = false;
    /// Since it was told to start.
    bool has_run = false;
    /// The host has been told that it is to leave.
    bool is_told_to_leave = false;
    /// Nobody knows whether it was told to start.
    bool is_in_doubt = false;
    /// On the wall clock: since when it waits, and before when it is not tried.
    milliseconds waits_since = 0;
    milliseconds backs_off_until = 0;
    std::uint32_t failures = 0;
    /// Why it is refused, not ready, or leaves; and how, if that was decided.
    std::string reason{};
    /// Why it was refused, as it was logged.
    std::string refusal{};
    std::optional<allot::relation> leaves_how{};
    bool is_dirty = false;
    /// What it was when it was last told why, and on the steady clock, before when it is not told again as
    /// long as it is that.
    phase told_as = phase::unknown;
    bool told_reserved = false;
    std::int64_t next_told = 0;
    /// It has not been tried since the scheduler was told of it.
    bool is_untried = true;
    /// The first reserved start that was logged.
    allot::instant told_start = allot::without_end;
  };

  // What the host says (governor_intake.cpp).
  [[nodiscard]] bool take_in(changes&& c);
  void learn(record& r, job_report&& is);
  void take_in(record& r);
  void take_in_foreign(record& r);
  [[nodiscard]] bool note_ended_run(record& r);
  void take_in_ended_run(record& r);
  void take_in_holding(record& r);
  void take_in_machines(std::vector<machine_report> now, std::vector<std::string> levels);
  void tell_lost_gpus();
  void end_backoff(const job_name& cured);
  void forget(const job_name& name);
  void drop(const record& r);
  void evaluate(record& r);
  void wait_with(record& r, phase as, std::string reason);
  void end_backoffs();

  // Starting over (governor_restart.cpp).
  void start_over();
  [[nodiscard]] bool make_engine();
  void resume(const saved_state& s, allot::delay_cause changed);
  void adopt(record& r, bool is_news);
  void note_adopted(record& r, bool is_news);
  [[nodiscard]] memory stands() const;
  [[nodiscard]] record* find(const job_identity& job);

  // What it does (governor_actions.cpp).
  void decide();
  void act(const decision& d, std::vector<command>& all);
  void evict(record& r, const decision::eviction& e);
  void add_stop(record& r, std::vector<command>& all);
  void push_out_all();
  void add_explanations(std::vector<command>& all);
  void carry_out(std::vector<command> all);
  void note_start(record& r, const command& c);
  void put_off(record& r, milliseconds until, std::string why);
  void note_stop(record& r, const command& c);
  void note_explanation(record& r, const command& c);
  void log_forced(const job_name& name, const std::string& by, const std::string& why_not);
  void note_away(const std::string& why);
  [[nodiscard]] milliseconds count_failure(record& r);
  [[nodiscard]] explanation explanation_of(const record& r);

  /// Null: there is none.
  [[nodiscard]] record* find(const job_name& name);
  void enter(record& r, phase to);
  void give_back(record& r);
  void dirty(record& r);
  void set_time(moment now);
  void tell(const event& e);
  void tell(event::kind what, const job_name& name, allot::instant at = 0);
  [[nodiscard]] bool has_share(const record& r) const;
  /// As others see it; none: it is not governed.
  [[nodiscard]] static std::optional<job_phase> shown(phase p);

  // After a tick (governor_snapshot.cpp).
  void show_jobs(snapshot& s);

  governor_options options_;
  host& host_;
  surroundings around_;
  std::function<void(const std::string& line)> next_events_{};
  decision_log log_;
  std::string cluster_name_{};
  std::optional<governed_quotas> quotas_{};
  std::unique_ptr<engine> engine_;
  /// Whether a new scheduler is to be made, and what has changed for who waits, if anything.
  std::optional<allot::delay_cause> starts_over_ = allot::delay_cause::none;
  bool is_away_ = false;
  bool is_frozen_ = false;
  std::string why_no_engine_{};
  failed_calls failed_calls_{};
  std::optional<memory> remembered_{};
  std::vector<machine_report> machines_{};
  std::vector<std::string> levels_{};
  /// By machine, of `machine_report::lost_gpus` what the scheduler knows.
  std::map<std::string, std::uint32_t> lost_{};
  std::map<job_name, record> records_{};
  std::set<job_name> leaving_{};
  /// Those that were not started as often as they were told to, and those that wait for a time.
  std::set<job_name> backing_off_{};
  std::deque<job_name> dirty_{};
  job_name next_to_check_{};
  /// What was logged in the last tick, by one that observes.
  std::set<job_name> would_do_{};
  moment now_{};
  host_clock clock_{};
  snapshot::totals totals_{};
  snapshot::cost last_{};
  std::string refused_config_{};
};

}  // namespace allot_governor
