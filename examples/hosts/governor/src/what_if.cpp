// SPDX-License-Identifier: BSL-1.0
#include "governor/src/what_if.hpp"

#include "governor/src/engine.hpp"
#include "governor/src/events_log.hpp"
#include "governor/src/log.hpp"
#include "governor/src/where.hpp"

#include <allot/lab/change_story.hpp>
#include <allot/scheduler/explain_change.hpp>
#include <allot/scheduler/sentences.hpp>

#include <algorithm>
#include <exception>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace allot_governor {

using allot::lab::asked_change;
using allot::lab::change_story;

allot::lab::change_story engine::what_if(const std::vector<asked_change>& changes, allot::instant now,
                                         std::vector<std::string>& problems) {
  const auto wrong = [&](const asked_change& c, const std::string& what) {
    problems.push_back("there is no " + what + " \"" + c.name + '"');
  };
  const auto change = [&](const asked_change& c, host_scheduler& copy) {
    if (c.what == asked_change::kind::quota) {
      const allot::quota_id x = copy.tree().find(c.name);
      if (!x) return wrong(c, "quota");
      const auto& all = setup_.quotas.resources;
      const auto d = std::find(all.begin(), all.end(), c.resource);
      if (d == all.end()) return problems.push_back("there is no resource \"" + c.resource + '"');
      allot::resize_quota<dimensions> r{x};
      r.nominal = copy.tree().spec(x).nominal;
      (*r.nominal)[static_cast<std::size_t>(d - all.begin())] += c.by;
      const auto answer = copy.apply(std::vector<allot::quota_change<dimensions>>{r});
      for (const allot::problem& p : answer.problems()) problems.push_back(p.text);
      return;
    }
    if (c.what == asked_change::kind::node_gone) {
      const auto n =
          copy.places().has_nodes() ? copy.places().inventory().layout().find(c.name) : std::nullopt;
      if (!n) return wrong(c, "node");
      static_cast<void>(lose_node(copy, *n));
      return;
    }
    const auto known = slots_.find(c.name);
    if (known == slots_.end()) return wrong(c, "job");
    const allot::job_id id = ids_[known->second];
    allot::refusal why_not{};
    if (c.what == asked_change::kind::job_gone) {
      why_not = copy.cancel(id);
    } else {
      const facts before = table_[known->second];
      facts with = before;
      with.priority = c.priority;
      table_.show(known->second, with);
      why_not = copy.update(id);
      table_.show(known->second, before);
    }
    if (why_not == allot::refusal::wrong_state) {
      problems.push_back("job \"" + c.name + "\" can't be changed while it leaves, or others leave for it");
    } else if (why_not != allot::refusal::none) {
      problems.push_back("job \"" + c.name + "\" can't be changed: " + std::string{to_string(why_not)});
    }
  };
  auto told = explain_change(*scheduler_, now, [&](host_scheduler& copy) {
    for (const asked_change& c : changes) change(c, copy);
  });
  if (!problems.empty()) return {};
  return allot::lab::story_of(
      told,
      [&](allot::job_id id) {
        const std::uint32_t slot = told.with.what(id);
        return change_story::job{keys_[slot], setup_.quotas.quotas[table_[slot].quota.index()].spec.name};
      },
      [&](allot::job_id id) {
        allot::vector<std::string> nodes;
        for (const node_share& s : shares_of(told.with.places(), told.with.place_of(id)))
          nodes.push_back(s.node);
        return nodes;
      },
      [&](allot::job_id id) {
        const auto name = [this, own = told.with.what(id)](std::uint32_t slot) {
          return slot == own ? std::string{"it"} : keys_[slot];
        };
        return sentence(told.with, told.with.why(id), names_, name);
      });
}

what_if_answer what_if(std::istream& events, const std::vector<std::string>& changes, bool as_json) {
  what_if_answer answer;
  std::vector<asked_change> asked;
  for (const std::string& text : changes) {
    std::string problem;
    const auto read = allot::lab::read_change(text, problem);
    if (read) asked.push_back(*read);
    if (!read) answer.problems.push_back(text + ": " + problem);
  }
  if (!answer.problems.empty()) return answer;
  std::unique_ptr<engine> it;
  std::size_t number = 0;
  try {
    std::string text;
    while (std::getline(events, text)) {
      // The governor is writing it.
      if (events.eof()) break;
      ++number;
      logged_line says = parse_line(text, std::nullopt);
      if (auto* setup = std::get_if<engine_setup>(&says)) {
        auto made = engine::make(std::move(*setup));
        if (!made) throw std::invalid_argument{made.problems().front().text};
        it = std::move(made).value();
        continue;
      }
      if (it == nullptr) throw std::invalid_argument{"the log does not begin with a scheduler"};
      if (const auto* told = std::get_if<logged_event>(&says)) {
        static_cast<void>(it->apply(told->what));
      } else {
        answer.asked_at = std::get<logged_cycle>(says).now;
        static_cast<void>(it->step(answer.asked_at));
      }
    }
  } catch (const std::exception& e) {
    answer.unreadable = "line " + std::to_string(number) + ": " + e.what();
    return answer;
  }
  if (it == nullptr) {
    answer.unreadable = "nothing is in it yet";
    return answer;
  }
  const change_story story = it->what_if(asked, answer.asked_at, answer.problems);
  if (!answer.problems.empty()) return answer;
  answer.text = as_json ? to_json(story, changes) + '\n' : to_text(story, &time_text);
  return answer;
}

}  // namespace allot_governor
