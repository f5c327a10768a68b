// SPDX-License-Identifier: BSL-1.0
// A simulation that is decided from outside: it stops at each instant, shows its state, and does what it is
// told.
#pragma once

#include "runs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_python {

/// The number of a job in the simulation.
using job_number = std::uint32_t;

/// The state at an instant. Amounts are by resource of the scenario, times in milliseconds.
struct observation {
  struct pending_job {
    job_number job = 0;
    std::size_t quota = 0;
    lab::amounts request{};
    std::uint32_t fewest_pods = 1;
    /// Its quota allows it, and the nodes have a place: a start would be carried out.
    bool fits_quota = false;
    bool fits_nodes = false;
  };
  struct running_job {
    job_number job = 0;
    std::size_t quota = 0;
    lab::amounts request{};
    std::uint32_t pods = 1;
    /// If its pods differ: of each set.
    std::vector<std::uint32_t> pods_of_sets{};
    allot::instant since = 0;
    /// By number, without repetition.
    std::vector<std::uint32_t> nodes{};
    /// One more pod of an elastic job is pending.
    bool may_grow = false;
  };
  struct quota {
    bool exists = false;
    std::optional<std::size_t> parent{};
    lab::amounts nominal{};
    /// Of the jobs in its subtree.
    lab::amounts used{};
    lab::amounts borrowed{};
    lab::amounts lent{};
    /// The most that one more job of it could use by the law of the quotas.
    lab::amounts headroom{};
  };
  struct node {
    std::uint32_t gpus = 0;
    /// In thousandths of a GPU, and the GPUs that nobody uses.
    std::int64_t free = 0;
    std::uint32_t free_gpus = 0;
    bool is_closed = false;
  };

  allot::instant now = 0;
  /// By submission, then id.
  std::vector<pending_job> pending{};
  /// In the order of their starts.
  std::vector<running_job> running{};
  std::vector<quota> quotas{};
  std::vector<node> nodes{};
};

/// Jobs as columns that keep their places: as many as are shown at most. Past `count`, what a column had
/// before.
struct job_columns {
  job_columns(std::size_t most, std::size_t resources_);

  std::size_t resources;
  std::size_t count = 0;
  std::vector<std::int32_t> job;
  std::vector<std::int32_t> quota;
  /// By job, then resource.
  std::vector<double> request;
  std::vector<std::int32_t> pods;
  std::vector<std::int64_t> priority;
  std::vector<unsigned char> preemptible;
  /// In seconds: since it was submitted; its user's estimate, or not a number; for how long it has run, in
  /// all of its runs and in the present one.
  std::vector<double> age;
  std::vector<double> estimate;
  std::vector<double> served;
  std::vector<double> ran;
  /// How often it has started.
  std::vector<std::int32_t> starts;
  /// Of pending ones.
  std::vector<unsigned char> fits_quota;
  std::vector<unsigned char> fits_nodes;
};
/// The state as columns. Amounts are by quota, then resource; infinite if unlimited.
struct columns {
  columns(const lab::scenario& of, std::size_t most_pending, std::size_t most_running);

  double now = 0;
  /// How many there are in all.
  std::size_t waiting = 0;
  std::size_t running_in_all = 0;
  job_columns pending;
  job_columns running;
  std::vector<double> nominal;
  std::vector<double> used;
  std::vector<double> borrowed;
  std::vector<double> lent;
  std::vector<double> headroom;
  /// By node: in GPUs, 0 if it is closed.
  std::vector<double> free;
};
/// What has happened to jobs since this was last asked.
struct news {
  std::vector<job_number> submitted;
  std::vector<job_number> evicted;
  std::vector<job_number> ended;
};

enum class action_kind : std::uint8_t { start, evict, grow, shrink };
[[nodiscard]] std::string_view to_string(action_kind kind) noexcept;
/// What is decided from outside.
struct action {
  action_kind what{};
  job_number job = 0;
  /// With `evict` and `shrink`: the pending job for which it is done, if any.
  std::optional<job_number> beneficiary{};
};
/// Whether it was carried out; if not, why: a word, the quota whose bound it is (or empty), and a sentence.
struct answer {
  bool done = true;
  std::string reason{};
  std::string at{};
  std::string text{};
};

/// What does not depend on time.
struct job_facts {
  struct pod_set {
    std::string name;
    std::uint32_t pods = 1;
    std::uint32_t min_pods = 1;
    /// Of one pod, under the first of its flavors.
    lab::amounts request{};
  };

  std::string_view id;
  std::string_view job_class;
  std::size_t quota = 0;
  std::uint32_t pods = 1;
  std::int64_t priority = 0;
  bool preemptible = true;
  allot::instant submit = 0;
  /// In milliseconds; 0: none.
  std::int64_t estimate = 0;
  /// If its pods differ.
  std::vector<pod_set> sets{};
  /// By tag column of the trace.
  std::vector<std::string_view> tags{};
};

/// What the cycle of the policy shows to the stepper; of one type for each number of resources.
class desk {
 public:
  desk() = default;
  virtual ~desk() = default;

  [[nodiscard]] virtual allot::instant now() const = 0;
  virtual void look(observation& to, std::size_t most_pending) = 0;
  virtual void look(columns& to) = 0;
  [[nodiscard]] virtual news take_news() = 0;
  [[nodiscard]] virtual answer carry_out(const action& a) = 0;
  /// Whether anything runs, is not ready yet, or could start.
  [[nodiscard]] virtual bool may_go_on() const = 0;

 protected:
  desk(const desk&) = default;
  desk& operator=(const desk&) = default;
};

/// The name of the policy that is decided from outside.
inline constexpr std::string_view outside_name = "outside";
/// Makes it known to the lab. To be called once.
void add_outside_policy();

/// Runs one simulation. It is a coroutine with a stack of its own, which the policy's cycle suspends: between
/// two calls the simulation stands inside of its cycle, at an instant after everything that happens at it.
class stepper {
 public:
  /// Runs until the first instant. The scenario's policy must be `outside_name`. Throws `input_error`.
  stepper(const run_input& input, const run_options& options, std::string directory);
  stepper(const stepper&) = delete;
  stepper& operator=(const stepper&) = delete;
  /// Abandons the simulation if it is not done.
  ~stepper();

  /// Nothing more happens.
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// The time of the last instant.
  [[nodiscard]] allot::instant now() const noexcept { return now_; }
  [[nodiscard]] const lab::scenario& of() const noexcept { return run_.of(); }
  [[nodiscard]] const std::vector<job_facts>& jobs() const noexcept { return jobs_; }

  /// The state. Precondition: not done.
  [[nodiscard]] observation observe(std::size_t most_pending);
  void observe(columns& to);
  /// What has happened since the last call; nothing if it is done.
  [[nodiscard]] news take_news();
  /// The names of the tags.
  [[nodiscard]] const std::vector<std::string>& tags() const noexcept { return tags_; }
  /// Carries the actions out, one after the other, at this instant. What an eviction frees is free for the
  /// next start. An answer for each.
  [[nodiscard]] std::vector<answer> act(const std::vector<action>& actions);
  /// Starts these, one after the other, up to the first that is refused; returns how many.
  std::size_t start_while_possible(const std::vector<job_number>& jobs);
  /// Time passes to `until`, and if that is past until something happens. It is done if nothing is left that
  /// could happen before, whatever is decided.
  void advance(allot::instant until);
  /// Ends the simulation at this instant.
  void stop();
  /// Precondition: done. Writes the files, once.
  run& result();

  /// For the cycle: the one that is being run now; null in any other replay.
  [[nodiscard]] static stepper* current() noexcept;
  /// For the cycle: shows it, and returns when it may go on.
  void pause(desk& at);
  /// For the cycle: when to pause next though nothing happens.
  [[nodiscard]] std::optional<allot::instant> wakes_at(const desk& at) const;

 private:
  struct coroutine;
  /// Is thrown through an abandoned simulation.
  struct abandoned {};

  void resume();
  void body();

  run run_;
  std::vector<job_facts> jobs_;
  std::vector<std::string> tags_;
  /// When the last job comes, or the last event.
  allot::instant last_to_come_ = 0;
  /// To which time passes.
  allot::instant until_ = 0;
  std::unique_ptr<coroutine> routine_;
  desk* desk_ = nullptr;
  std::exception_ptr failure_;
  allot::instant now_ = 0;
  bool done_ = false;
  bool is_abandoned_ = false;
  bool is_concluded_ = false;
};

}  // namespace allot_python
