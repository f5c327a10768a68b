// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/explain_change.hpp>
#include <allot/scheduler/plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A change that somebody asks about.
struct asked_change {
  enum class kind : std::uint8_t { quota, priority, job_gone, node_gone };
  kind what = kind::quota;
  /// Of the quota, the job or the node.
  std::string name{};
  /// `quota`: by how much what it owns of a resource changes.
  std::string resource{};
  quantity by{};
  std::int64_t priority = 0;
};
/// Reads "quota:NAME:gpu+8" (or -8), "job:NAME:priority=5", "job:NAME:gone" or "node:NAME:gone". Returns
/// nullopt if it is none of these, and says in `problem` what was expected.
[[nodiscard]] std::optional<asked_change> read_change(std::string_view text, std::string& problem);

/// What is otherwise with changes than without them (`allot::explain_change`), by names.
struct change_story {
  struct job {
    std::string id;
    std::string quota;
    /// Where it starts.
    vector<std::string> nodes{};
    /// When it starts at the latest, without the changes and with them; `without_end`: not known.
    instant was_start = without_end;
    instant start = without_end;
    /// Why it waits, without the changes and with them.
    pending_reason was = pending_reason::not_waiting;
    pending_reason is = pending_reason::not_waiting;
    /// The latter as a sentence.
    std::string text{};
  };
  /// The lists of `explained_change::effects`, by the names that they have in the JSON and in the text.
  static constexpr std::size_t lists = 9;
  static constexpr std::array<std::string_view, lists> names = {
      "started", "not_started", "evicted", "not_evicted", "grown", "shrunk", "sooner", "later", "waits"};

  std::array<vector<job>, lists> jobs{};
  bool at_rest = true;
};

/// What has been found, told by the host's names: `name(job_id)` returns a job with its names,
/// `nodes(job_id)` where one has started, `why(job_id)` the sentence for one that waits, all with the change.
template <class Scheduler, class Name, class Nodes, class Why>
[[nodiscard]] change_story story_of(const explained_change<Scheduler>& told, Name name, Nodes nodes,
                                    Why why) {
  const auto& e = told.effects;
  const vector<job_id>* const lists[] = {&e.started, &e.not_started, &e.evicted, &e.not_evicted,
                                         &e.grown,   &e.shrunk,      &e.sooner,  &e.later};
  const auto start = [](const Scheduler& in, job_id id) {
    const auto held = in.reservation_of(id);
    return held && !held->gathers_since ? held->start : without_end;
  };
  const auto job_of = [&](job_id id) {
    change_story::job j = name(id);
    j.was_start = start(told.without, id);
    j.start = start(told.with, id);
    return j;
  };
  change_story story;
  std::size_t to = 0;
  for (const auto* list : lists) {
    for (const job_id id : *list) {
      change_story::job j = job_of(id);
      if (list == &e.started) j.nodes = nodes(id);
      story.jobs[to].push_back(std::move(j));
    }
    ++to;
  }
  for (const auto& r : e.reasons) {
    change_story::job j = job_of(r.job);
    j.was = r.was;
    j.is = r.is;
    if (told.with.state(r.job) == job_state::pending) j.text = why(r.job);
    story.jobs[to].push_back(std::move(j));
  }
  story.at_rest = told.at_rest;
  return story;
}

/// For people; `time(instant)` is how times are written.
[[nodiscard]] std::string to_text(const change_story& story, std::string (*time)(instant));
/// For programs. Times are seconds.
[[nodiscard]] std::string to_json(const change_story& story, std::span<const std::string> changes);

}  // namespace lab
}  // namespace v0
}  // namespace allot
