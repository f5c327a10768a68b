// SPDX-License-Identifier: BSL-1.0
#include "lab/explain_change.hpp"

#include "lab/decision_maker.hpp"
#include "lab/outputs.hpp"
#include "lab/scenario_reader.hpp"
#include "lab/time_text.hpp"

#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/printable.hpp>
#include <allot/scheduler/explain_change.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
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
    const std::size_t first = text.find(':');
    const std::size_t last = text.rfind(':');
    const std::string kind = text.substr(0, first);
    if (first == last || (kind != "quota" && kind != "job" && kind != "node")) {
      return wrong(text, "expected quota:NAME:gpu+8, job:NAME:priority=5, job:NAME:gone or node:NAME:gone");
    }
    const std::string name = text.substr(first + 1, last - first - 1);
    const std::string what = text.substr(last + 1);
    if (kind == "quota") {
      resize(text, name, what);
    } else if (kind == "node") {
      const auto node = changed.cluster ? changed.cluster->find(name) : std::nullopt;
      if (!node) return wrong(text, "there is no node \"" + name + '"');
      if (what != "gone") return wrong(text, "expected node:NAME:gone");
      nodes.push_back(*node);
    } else if (what == "gone") {
      jobs.push_back(name);
    } else {
      prioritize(text, name, what);
    }
  }

  scenario changed;
  /// Those that are gone.
  vector<gpu::node_id> nodes{};
  vector<std::string> jobs{};

 private:
  void wrong(const std::string& change, std::string text) { found_.add(change, {}, std::move(text)); }

  void resize(const std::string& text, std::string_view name, const std::string& what) {
    const auto end = changed.quotas.begin() + static_cast<std::ptrdiff_t>(changed.initial_quotas);
    const auto it =
        std::find_if(changed.quotas.begin(), end, [&](const auto& q) { return q.spec.name == name; });
    if (it == end) return wrong(text, "there is no quota \"" + std::string{name} + '"');
    const std::size_t sign = what.find_last_of("+-");
    const auto& all = changed.resources;
    const auto d = sign == std::string::npos
                       ? all.end()
                       : std::find(all.begin(), all.end(), std::string_view{what}.substr(0, sign));
    const parsed_milli amount =
        d == all.end() ? parsed_milli{} : parse_milli(std::string_view{what}.substr(sign + 1));
    if (d == all.end() || amount.problem != decimal_problem::none || amount.value < 0) {
      return wrong(text, "expected a resource of the scenario, + or -, and an amount, as in \"" +
                             all.front() + "+8\"");
    }
    quantity& nominal = it->spec.nominal[static_cast<std::size_t>(d - all.begin())];
    what[sign] == '+' ? nominal += quantity::milli(amount.value) : nominal -= quantity::milli(amount.value);
  }
  void prioritize(const std::string& text, std::string_view name, std::string_view what) {
    const auto job =
        std::find_if(changed.jobs.begin(), changed.jobs.end(), [&](const auto& j) { return j.id == name; });
    if (job == changed.jobs.end()) {
      return wrong(text, "the scenario itself, without its trace, has no job \"" + std::string{name} + '"');
    }
    constexpr std::string_view before = "priority=";
    const char* const end = what.data() + what.size();
    const char* const from = what.data() + std::min(before.size(), what.size());
    const auto [after, error] = std::from_chars(from, end, job->priority);
    if (what.substr(0, before.size()) != before || error != std::errc{} || after != end)
      wrong(text, "expected a whole number, as in \"priority=5\"");
  }

  errors& found_;
};

/// Tells of the copy with the changes, which is put in the place of the scheduler of its host.
class story_of_change {
 public:
  using scheduler_type = decision_maker::scheduler_type;

  story_of_change(explained_change<scheduler_type>& told, decision_maker& with) : told_(told), with_(with) {
    with_.scheduler() = told_.with;
  }

  [[nodiscard]] change_story tell() {
    const auto& e = told_.effects;
    const vector<job_id>* const lists[] = {&e.started, &e.not_started, &e.evicted, &e.not_evicted,
                                           &e.grown,   &e.shrunk,      &e.sooner,  &e.later};
    std::size_t to = 0;
    for (const auto* list : lists) {
      for (const job_id id : *list) {
        change_story::job j = job_of(id);
        if (list == &e.started) {
          for (const std::string_view node : with_.nodes_of_job(told_.with.what(id)))
            j.nodes.emplace_back(node);
        }
        story_.jobs[to].push_back(std::move(j));
      }
      ++to;
    }
    for (const auto& r : e.reasons) {
      change_story::job j = job_of(r.job);
      j.was = r.was;
      j.is = r.is;
      if (told_.with.state(r.job) == job_state::pending) {
        j.text = with_.explain_waiting(told_.with.what(r.job)).text;
      }
      story_.jobs[to].push_back(std::move(j));
    }
    story_.at_rest = told_.at_rest;
    return std::move(story_);
  }

 private:
  [[nodiscard]] change_story::job job_of(job_id id) const {
    const auto start = [&](const scheduler_type& in) {
      const auto held = in.reservation_of(id);
      return held && !held->gathers_since ? held->start : without_end;
    };
    const auto j = told_.with.what(id);
    change_story::job told{std::string{with_.ids()[j]}, with_.name_of(with_.job(j).quota)};
    told.was_start = start(told_.without);
    told.start = start(told_.with);
    return told;
  }

  explained_change<scheduler_type>& told_;
  decision_maker& with_;
  change_story story_{};
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
  return story_of_change{told, *with}.tell();
}

std::string to_text(const change_story& story) {
  constexpr std::array<std::string_view, change_story::lists> heads = {
      "start",           "do not start", "have to go",  "do not have to go", "have more pods",
      "have fewer pods", "start sooner", "start later", "wait, and why"};
  std::string text;
  for (std::size_t i = 0; i < story.jobs.size(); ++i) {
    if (!story.jobs[i].empty()) text += fmt::format("These {}:\n", heads[i]);
    for (const change_story::job& j : story.jobs[i]) {
      std::string line = fmt::format("{} ({})", j.id, j.quota);
      for (std::size_t k = 0; k < j.nodes.size(); ++k) line += (k == 0 ? " on " : ", ") + j.nodes[k];
      const auto at = [](instant t) { return t == without_end ? "no known time" : clock_time(t); };
      if (change_story::names[i] == "sooner" || change_story::names[i] == "later")
        line += fmt::format(" by {} instead of {}", at(j.start), at(j.was_start));
      if (change_story::names[i] == "waits")
        line += ": " + (j.text.empty() ? std::string{to_string(j.is)} : j.text);
      text += "  " + printable(line) + '\n';
    }
  }
  if (text.empty()) text = "Nothing would be otherwise.\n";
  if (!story.at_rest) text += "This is not all: jobs would evict one another again and again.\n";
  return text;
}

std::string to_json(const change_story& story, std::span<const std::string> changes) {
  json_writer out;
  out.begin_object().member("format", "allot-change/1").key("if").begin_array();
  for (const std::string& c : changes) out.value(c);
  out.end_array();
  for (std::size_t i = 0; i < story.jobs.size(); ++i) {
    const std::string_view name = change_story::names[i];
    out.key(name).begin_array();
    for (const change_story::job& j : story.jobs[i]) {
      out.begin_object().member("id", j.id).member("quota", j.quota);
      if (name == "started") {
        out.key("nodes").begin_array();
        for (const std::string& node : j.nodes) out.value(node);
        out.end_array();
      }
      const auto time = [&](std::string_view key, instant at) {
        out.key(key);
        at == without_end ? out.null() : out.raw(decimal(at));
      };
      if (name == "sooner" || name == "later") time("was_start_s", j.was_start), time("start_s", j.start);
      if (name == "waits") {
        out.member("was", to_string(j.was)).member("reason", to_string(j.is)).member("text", j.text);
      }
      out.end_object();
    }
    out.end_array();
  }
  return out.member("at_rest", story.at_rest).end_object().text();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
