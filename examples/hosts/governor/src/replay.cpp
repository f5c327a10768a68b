// SPDX-License-Identifier: BSL-1.0
#include "governor/src/replay.hpp"

#include "governor/src/events_log.hpp"
#include "governor/src/job_table.hpp"
#include "governor/src/named_plan.hpp"
#include "governor/src/simulated.hpp"
#include "governor/src/where.hpp"

#include <allot/quota/tree.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/driver.hpp>
#include <allot/sim/setup.hpp>

#include <algorithm>
#include <istream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

namespace allot_governor {

namespace {

using allot::sim::job_index;
using kind = event::kind;

/// The preset as the engine takes it: what can't be requeued never stands on a loan, and there are only the
/// reservations that the file asks for.
struct governed_preset : allot::any_preset {
  explicit governed_preset(const allot::any_preset& p) : allot::any_preset(p) {}

  void use_estimates() = delete;
  template <class View, class Placement>
  [[nodiscard]] allot::any_policies<View, Placement> policies_for() const {
    auto parts = allot::any_preset::policies_for<View, Placement>();
    parts.not_preemptible = allot::capacity_kind::guaranteed;
    return parts;
  }
};
static_assert(allot::preset<governed_preset> && !allot::estimating_preset<governed_preset>);

/// What the log tells of one scheduler.
struct line {
  std::size_t number = 0;
  std::string text{};
  std::variant<logged_event, logged_cycle> says{};
};
struct chapter {
  engine_setup setup;
  std::vector<line> lines{};
};

/// Whether the event is about a job that the scheduler has not known like this.
[[nodiscard]] bool brings_job(kind k) {
  return k == kind::submit || k == kind::adopt || k == kind::alter;
}

struct counter final : simulation_observer {
  void on(const simulator&, const allot::sim::job_event<dimensions>& e) override {
    starts += e.what == allot::sim::job_event_kind::started ? 1U : 0U;
    evictions += e.what == allot::sim::job_event_kind::evicted ? 1U : 0U;
  }

  std::size_t starts = 0;
  std::size_t evictions = 0;
};

/// One scheduler's part of the log as a simulation. A job that is altered is another job of the workload from
/// then on.
class simulation {
 public:
  explicit simulation(const chapter& log) : named_(number(log)), sim_(make(log)), driver_(sim_, count_) {}

  /// What is said from now on was seen at that time.
  void pass_time(allot::instant now) { driver_.pass_time(now); }
  /// As `engine::apply`, for that line of the log.
  [[nodiscard]] std::string_view apply(std::size_t at, const event& e);
  [[nodiscard]] decision step(allot::instant now);
  [[nodiscard]] const counter& counted() const noexcept { return count_; }

 private:
  /// The jobs in the order of the workload, and which ones a line brings.
  struct numbering {
    std::vector<const facts*> jobs{};
    std::vector<job_name> keys{};
    std::unordered_map<std::size_t, std::vector<job_index>> by_line{};
  };
  [[nodiscard]] static numbering number(const chapter& log);
  [[nodiscard]] simulator make(const chapter& log) const;

  [[nodiscard]] std::string_view note(const event& e, job_index j, allot::submission answer);
  [[nodiscard]] allot::gpu::allocation_id take_place(const std::vector<node_share>& where,
                                                     const allot::gpu::pod_request& pods);
  [[nodiscard]] std::string_view adopt(const event& e, job_index j);
  void resume(const event& e, const std::vector<job_index>& jobs);
  [[nodiscard]] std::string_view alter(const event& e, job_index before, job_index j);
  [[nodiscard]] std::string_view change_places(const event& e);

  [[nodiscard]] allot::gpu::pod_request asked(job_index j, const allot::flavor_pick& pick) const {
    const auto& view = sim_.scheduler().view();
    return view.pod_request(j, view.pods(j), pick);
  }
  [[nodiscard]] const job_name& key(job_index j) const { return named_.keys[j]; }
  [[nodiscard]] allot::job_id id(job_index j) const { return sim_.history(j).id; }
  [[nodiscard]] allot::job_id id(const job_name& k) const {
    const auto at = known_.find(k);
    return at == known_.end() ? allot::job_id{} : id(at->second);
  }

  numbering named_;
  simulator sim_;
  counter count_{};
  allot::sim::driver<dimensions, host_places> driver_;
  std::unordered_map<job_name, job_index> known_{};
  std::unordered_map<job_name, allot::gpu::allocation_id> foreign_{};
};

simulation::numbering simulation::number(const chapter& log) {
  struct arrival {
    std::size_t line;
    const job_name* key;
    const facts* what;
  };
  std::vector<arrival> all;
  for (std::size_t i = 0; i < log.lines.size(); ++i) {
    const auto* const says = std::get_if<logged_event>(&log.lines[i].says);
    if (says == nullptr) continue;
    if (brings_job(says->what.is)) all.push_back({i, &says->what.key, &says->what.what});
    for (const auto& [key, what] : says->what.jobs) all.push_back({i, &key, &what});
  }
  // The order of the workload decides where nothing else does. It is not that of submission: jobs are
  // requeued, and users put their own back.
  std::stable_sort(all.begin(), all.end(),
                   [](const arrival& a, const arrival& b) { return a.what->rank < b.what->rank; });
  numbering n;
  for (const arrival& a : all) {
    n.by_line[a.line].push_back(static_cast<job_index>(n.jobs.size()));
    n.jobs.push_back(a.what);
    n.keys.push_back(*a.key);
  }
  return n;
}

simulator simulation::make(const chapter& log) const {
  const allot::lab::quotas_file& file = log.setup.quotas;
  std::vector<allot::quota_spec<dimensions>> specs;
  for (const auto& q : file.quotas) specs.push_back(q.spec);
  allot::sim::setup<dimensions, host_places> setup{
      .quotas = allot::quota_tree<dimensions>{std::move(specs)},
      .settings = {},
      .where = {},
      .jobs = {},
  };
  for (const auto& q : file.quotas) setup.settings.push_back(q.settings);
  if (log.setup.places_jobs) {
    auto places = places_of(log.setup);
    if (!places) throw std::invalid_argument{places.problems().front().text};
    setup.where = std::move(places).value();
  }
  for (std::size_t d = 0; d < file.resources.size(); ++d) {
    setup.capacity[d] = total_of(file.resources[d], log.setup);
  }
  job_table table;
  for (const facts* f : named_.jobs) table.show(table.add(), *f);
  setup.jobs = table.jobs();
  setup.flavor_sets = table.flavors();
  setup.unlike = table.unlike();
  allot::lab::named_policy chosen = file.policy;
  auto made = simulator::make(std::move(setup), governed_preset{*chosen.preset()});
  if (!made) throw std::invalid_argument{made.problems().front().text};
  return std::move(made).value();
}

std::string_view simulation::note(const event& e, job_index j, allot::submission answer) {
  if (!answer) return to_string(answer.why_not);
  known_[e.key] = j;
  return {};
}

allot::gpu::allocation_id simulation::take_place(const std::vector<node_share>& where,
                                                 const allot::gpu::pod_request& pods) {
  return take(
      driver_.places(), driver_.nodes(), [this](const auto& r, auto at) { return driver_.take_place(r, at); },
      where, pods);
}

std::string_view simulation::adopt(const event& e, job_index j) {
  const auto at = take_place(e.where, asked(j, e.pick));
  const allot::submission answer = driver_.adopt(j, e.at, at, e.pick);
  if (!answer) driver_.release_place(at);
  return note(e, j, answer);
}

void simulation::resume(const event& e, const std::vector<job_index>& jobs) {
  for (const job_index j : jobs) known_[key(j)] = j;
  const auto state = e.state.transformed([this](const auto& u) { return known_.at(u.what); },
                                         [](const auto& u) { return u.where; });
  const auto answer = driver_.resume(
      state, [this](const auto& u) { return std::optional{take_place(u.where, asked(u.what, u.pick))}; });
  for (const auto& u : answer.refused) known_.erase(key(u.what));
}

std::string_view simulation::alter(const event& e, job_index before, job_index j) {
  const allot::job_state was = sim_.scheduler().state(id(before));
  static_cast<void>(driver_.cancel(before));
  known_.erase(e.key);
  if (was == allot::job_state::pending || was == allot::job_state::nominated) {
    return note(e, j, driver_.submit(j));
  }
  const std::string_view why_not = adopt(e, j);
  if (why_not.empty() && was == allot::job_state::evicting) static_cast<void>(driver_.evicting(j));
  return why_not;
}

std::string_view simulation::change_places(const event& e) {
  const host_places& places = driver_.places();
  if (!places.has_nodes()) return {};
  if (e.is == kind::close || e.is == kind::open) {
    const auto n = places.inventory().layout().find(e.node);
    if (!n) return "unknown_node";
    static_cast<void>(e.is == kind::close ? driver_.nodes().close(*n) : driver_.nodes().reopen(*n));
  } else if (e.is == kind::foreign) {
    if (foreign_.count(e.key) != 0) return "the job is known already";
    foreign_[e.key] = take_place(e.where, e.what.pods);
  } else {
    const auto at = foreign_.find(e.key);
    if (at == foreign_.end()) return "unknown_job";
    driver_.release_place(at->second);
    foreign_.erase(at);
  }
  driver_.retry();
  return {};
}

std::string_view simulation::apply(std::size_t at, const event& e) {
  const auto known = known_.find(e.key);
  const bool is_known = known != known_.end();
  const auto say = [](allot::refusal why) -> std::string_view {
    return why == allot::refusal::none ? "" : to_string(why);
  };
  if (brings_job(e.is)) {
    const job_index j = named_.by_line.at(at).front();
    if (e.is == kind::alter) return is_known ? alter(e, known->second, j) : say(allot::refusal::unknown_job);
    if (is_known) return "the job is known already";
    return e.is == kind::submit ? note(e, j, driver_.submit(j)) : adopt(e, j);
  }
  if (e.is == kind::resume) {
    const auto jobs = named_.by_line.find(at);
    resume(e, jobs == named_.by_line.end() ? std::vector<job_index>{} : jobs->second);
    return {};
  }
  switch (e.is) {
    case kind::close:
    case kind::open:
    case kind::foreign:
    case kind::foreign_gone:
      return change_places(e);
    case kind::freeze:
    case kind::thaw:
      for (const allot::quota_id x : sim_.accounts().tree().roots()) {
        static_cast<void>(e.is == kind::freeze ? driver_.freeze(x) : driver_.thaw(x));
      }
      return {};
    default:
      break;
  }
  if (!is_known) return say(allot::refusal::unknown_job);
  const job_index j = known->second;
  switch (e.is) {
    case kind::evicting:
      return say(driver_.evicting(j));
    case kind::started:
      return say(driver_.started(j, e.at));
    case kind::evicted:
      return say(driver_.evicted(j));
    case kind::start_failed:
      return say(driver_.start_failed(j, e.at));
    case kind::not_evicted:
      return say(driver_.not_evicted(j, e.at));
    default: {
      const auto why_not = e.is == kind::finished ? driver_.finished(j) : driver_.cancel(j);
      if (why_not == allot::refusal::none) known_.erase(known);
      return say(why_not);
    }
  }
}

decision simulation::step(allot::instant now) {
  decision d;
  driver_.step(now, [&](const auto& plan) {
    d = named(
        plan, sim_.scheduler(), [&](job_index j) { return key(j); },
        [&](job_index j) { return !named_.jobs[j]->sets.empty(); });
  });
  return d;
}

void compare(const chapter& log, replay_result& result) {
  constexpr std::size_t most_differences = 10;
  const auto differs = [&](const line& at, const std::string& logged, const std::string& now) {
    if (result.differences.size() >= most_differences) return;
    result.differences.push_back("line " + std::to_string(at.number) + ": logged " + logged + ", now " + now);
  };
  simulation it{log};
  const auto or_accepted = [](std::string_view s) {
    return s.empty() ? std::string{"accepted"} : std::string{s};
  };
  std::size_t cycle = 0;
  for (std::size_t i = 0; i < log.lines.size(); ++i) {
    const line& at = log.lines[i];
    if (const auto* told = std::get_if<logged_event>(&at.says)) {
      // What the governor saw in one tick stands before its cycle.
      if (cycle < i) cycle = i;
      while (cycle < log.lines.size() && !std::holds_alternative<logged_cycle>(log.lines[cycle].says))
        ++cycle;
      if (cycle < log.lines.size()) it.pass_time(std::get<logged_cycle>(log.lines[cycle].says).now);
      ++result.events;
      const std::string_view why_not = it.apply(i, told->what);
      if (why_not != told->refused) differs(at, or_accepted(told->refused), or_accepted(why_not));
      continue;
    }
    const allot::instant now = std::get<logged_cycle>(at.says).now;
    const decision d = it.step(now);
    ++result.cycles;
    if (!d.empty()) ++result.plans;
    if (const std::string text = to_json(d, now); text != at.text) differs(at, at.text, text);
  }
  result.starts += it.counted().starts;
  result.evictions += it.counted().evictions;
}

}  // namespace

replay_result replay(std::istream& in, const std::optional<std::string>& config_text) {
  replay_result result;
  std::unique_ptr<chapter> current;
  std::size_t number = 0;
  const auto complain = [&](const std::exception& e) {
    if (result.problem.empty()) result.problem = "line " + std::to_string(number) + ": " + e.what();
  };
  std::size_t began_at = 0;
  const auto close = [&] {
    if (current == nullptr) return;
    try {
      compare(*current, result);
    } catch (const std::exception& e) {
      number = began_at;
      complain(e);
    }
    current.reset();
  };
  std::string text;
  while (result.problem.empty() && std::getline(in, text)) {
    ++number;
    // The governor was killed while it wrote this.
    if (in.eof()) break;
    try {
      logged_line says = parse_line(text, config_text);
      if (auto* setup = std::get_if<engine_setup>(&says)) {
        close();
        began_at = number;
        ++result.schedulers;
        current.reset(new chapter{std::move(*setup)});
        continue;
      }
      if (current == nullptr) throw std::invalid_argument{"the log does not begin with a scheduler"};
      line& at = current->lines.emplace_back(line{number, std::move(text)});
      if (auto* e = std::get_if<logged_event>(&says)) {
        at.says = std::move(*e);
      } else {
        at.says = std::get<logged_cycle>(says);
      }
    } catch (const std::exception& e) {
      complain(e);
    }
  }
  close();
  return result;
}

}  // namespace allot_governor
