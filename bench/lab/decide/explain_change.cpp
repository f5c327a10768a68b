// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/explain_change.hpp"

#include "lab/decide/decision_maker.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/scheduler/explain_change.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Reads changes. What is data of a scenario is changed there; the rest is kept for the scheduler.
class change_reader {
 public:
  change_reader(const scenario& s, errors& found) : changed(s), found_(found) {}

  void read(const std::string& text) {
    std::string problem;
    const auto asked = read_change(text, problem);
    if (!asked) return wrong(text, std::move(problem));
    switch (asked->what) {
      case asked_change::kind::quota:
        return resize(text, *asked);
      case asked_change::kind::priority:
        return prioritize(text, *asked);
      case asked_change::kind::job_gone:
        return jobs.push_back(asked->name);
      case asked_change::kind::node_gone: {
        const auto node = changed.cluster ? changed.cluster->find(asked->name) : std::nullopt;
        if (!node) return wrong(text, "there is no node \"" + asked->name + '"');
        return nodes.push_back(*node);
      }
    }
  }

  scenario changed;
  /// Those that are gone.
  vector<gpu::node_id> nodes{};
  vector<std::string> jobs{};

 private:
  void wrong(const std::string& change, std::string text) { found_.add(change, {}, std::move(text)); }

  void resize(const std::string& text, const asked_change& asked) {
    const auto end = changed.quotas.begin() + static_cast<std::ptrdiff_t>(changed.initial_quotas);
    const auto it =
        std::find_if(changed.quotas.begin(), end, [&](const auto& q) { return q.spec.name == asked.name; });
    if (it == end) return wrong(text, "there is no quota \"" + asked.name + '"');
    const auto& all = changed.resources;
    const auto d = std::find(all.begin(), all.end(), asked.resource);
    if (d == all.end()) return wrong(text, "there is no resource \"" + asked.resource + '"');
    it->spec.nominal[static_cast<std::size_t>(d - all.begin())] += asked.by;
  }
  void prioritize(const std::string& text, const asked_change& asked) {
    const auto job = std::find_if(changed.jobs.begin(), changed.jobs.end(),
                                  [&](const auto& j) { return j.id == asked.name; });
    if (job == changed.jobs.end()) {
      return wrong(text, "the scenario itself, without its trace, has no job \"" + asked.name + '"');
    }
    job->priority = asked.priority;
  }

  errors& found_;
};

}  // namespace

std::optional<change_story> explain_changes(const scenario& s, std::span<const std::string> changes,
                                            errors& found) {
  change_reader read{s, found};
  for (const std::string& text : changes) read.read(text);
  if (found.empty()) scenario_reader{read.changed, found}.check_quotas();
  if (!found.empty()) return std::nullopt;
  const auto without = make_decisions(s, 0, found);
  const auto with = make_decisions(read.changed, 0, found);
  if (!without || !with) return std::nullopt;
  auto& changed = with->scheduler();
  for (const gpu::node_id node : read.nodes) lose_node(changed, node);
  for (const std::string& name : read.jobs) {
    const auto at = std::find(with->ids().begin(), with->ids().end(), name);
    if (at == with->ids().end()) found.add("job:" + name + ":gone", {}, "there is no job \"" + name + '"');
    if (at != with->ids().end()) {
      changed.cancel(with->id_of(static_cast<decision_maker::job_index>(at - with->ids().begin())));
    }
  }
  if (!found.empty()) return std::nullopt;
  // Both know the same jobs by the same ids: they have been told of them in the same order.
  auto told = explain_change(without->scheduler(), without->now(), [&](auto& copy) { copy = changed; });
  // It is put in the place of the scheduler of its host, which has the names.
  changed = told.with;
  const auto what = [&](job_id id) { return told.with.what(id); };
  return story_of(
      told,
      [&](job_id id) {
        const auto j = what(id);
        return change_story::job{std::string{with->ids()[j]}, with->name_of(with->job(j).quota)};
      },
      [&](job_id id) {
        vector<std::string> nodes;
        for (const std::string_view node : with->nodes_of_job(what(id))) nodes.emplace_back(node);
        return nodes;
      },
      [&](job_id id) { return with->explain_waiting(what(id)).text; });
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
