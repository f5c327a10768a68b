// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/sim/job.hpp>

#include <cstdint>
#include <map>
#include <optional>

namespace allot {
inline namespace v0 {
namespace sim {

/// Notices when a policy does not come to rest at an instant: in some of the systems that presets are named
/// after, jobs can evict one another for ever. There time would pass between two rounds; in a simulation in
/// which those who are told to go are gone at once, none does.
///
/// It is taken for granted of a job that was told to go 64 times at one instant for each unit that it
/// consists of (an elastic job: the pods that it needs, and each further pod), and when 64 steps in a row
/// announced something and let nobody start or go.
class unrest {
 public:
  static constexpr std::uint32_t most_turns = 64;
  static constexpr std::uint32_t most_idle_steps = 64;

  /// The policy begins to decide at an instant.
  void begin(instant now) {
    now_ = now;
    idle_ = 0;
    is_restless_ = false;
    turns_.clear();
  }
  /// It has decided something.
  void note_step() {
    if (++idle_ > most_idle_steps) give_up();
  }
  /// With that step a job, which consists of so many units, was told to go or lost one of them.
  void note_eviction(job_index j, std::uint32_t units) {
    idle_ = 0;
    if (++turns_[j] > most_turns * units) give_up(j);
  }
  /// With that step a job or a pod started.
  void note_admission() noexcept { idle_ = 0; }
  [[nodiscard]] bool may_go_on() const noexcept { return !is_restless_; }

  /// At how many instants it was stopped, and the first of them; meaningless if there was none.
  [[nodiscard]] std::uint64_t instants() const noexcept { return instants_; }
  [[nodiscard]] instant first() const noexcept { return first_; }
  /// A job that was told to go again and again at the first of them, if that was the reason.
  [[nodiscard]] std::optional<job_index> restless_job() const noexcept { return job_; }

 private:
  void give_up(std::optional<job_index> j = {}) {
    if (is_restless_) return;
    is_restless_ = true;
    if (instants_++ != 0) return;
    first_ = now_;
    job_ = j;
  }

  std::map<job_index, std::uint32_t> turns_;
  instant now_ = 0;
  std::uint32_t idle_ = 0;
  bool is_restless_ = false;
  std::uint64_t instants_ = 0;
  instant first_ = 0;
  std::optional<job_index> job_{};
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
