// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/generated.hpp"

#include "lab/io/time_text.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/generate.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_gpus = 1'000'000;
constexpr std::int64_t two_weeks = 14;
constexpr std::string_view teams_model = "teams";
constexpr std::string_view uniform_model = "uniform";

std::optional<workload_kind> kind_of(std::string_view model) {
  constexpr std::pair<std::string_view, workload_kind> kinds[] = {
      {"mix", workload_kind::mix},
      {"philly", workload_kind::philly},
      {"helios", workload_kind::helios},
      {"openb", workload_kind::openb},
      {"inference", workload_kind::inference},
      {"interactive", workload_kind::interactive}};
  for (const auto& [name, kind] : kinds) {
    if (name == model) return kind;
  }
  return std::nullopt;
}

/// A parameter that only some models have, and these models.
struct parameter_use {
  std::string_view parameter;
  vector<std::string_view> models;
};
const vector<parameter_use>& parameter_uses() {
  static const vector<parameter_use> all = {
      {"days", {"mix", "philly", "helios", "openb", "inference", "interactive", "teams"}},
      {"jobs", {"mix", "philly", "helios", "openb", "inference", "interactive", "uniform"}},
      {"tenants", {"mix", "philly", "helios", "openb", "inference", "interactive", "uniform"}},
      {"training", {"mix", "philly", "helios", "openb", "interactive", "teams"}},
      {"serving_tenant", {"mix", "openb", "inference", "teams"}},
      {"serving", {"mix", "teams"}},
      {"interactive", {"mix"}},
      {"checkpoint_s", {"mix", "philly", "helios", "openb", "teams"}},
      {"restart_s", {"mix", "philly", "helios", "openb", "teams"}},
      {"mean_duration_s", {"uniform"}}};
  return all;
}

bool is_said(const generated_workload& w, std::string_view parameter) {
  const std::pair<std::string_view, bool> said[] = {{"days", w.days.has_value()},
                                                    {"jobs", w.jobs.has_value()},
                                                    {"tenants", w.tenants.has_value()},
                                                    {"training", !w.training.empty()},
                                                    {"serving_tenant", w.serving_tenant.has_value()},
                                                    {"serving", w.serving.has_value()},
                                                    {"interactive", w.interactive.has_value()},
                                                    {"checkpoint_s", w.checkpoint.has_value()},
                                                    {"restart_s", w.restart.has_value()},
                                                    {"mean_duration_s", w.mean_duration.has_value()}};
  const auto is_it = [&](const auto& s) { return s.first == parameter; };
  const auto* const at = std::find_if(std::begin(said), std::end(said), is_it);
  return at != std::end(said) && at->second;
}

/// "mix and teams", "mix, openb and teams".
std::string enumerated(const vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

/// The serving and interactive parts. If the load is small, they do not make up all of it.
workload_mix mix_of(const generated_workload& w) {
  const workload_mix usual;
  const bool is_teams = w.model == teams_model;
  const auto part = [&](const std::optional<std::int64_t>& said, std::int64_t otherwise) {
    return said.value_or(std::min(otherwise, is_teams ? w.load : w.load / 4));
  };
  return {part(w.serving, usual.inference_permille), part(w.interactive, usual.interactive_permille)};
}

class problem_finder {
 public:
  explicit problem_finder(const generated_workload& w) : w_(w) {}

  vector<parameter_problem> find() {
    if (!kind_of(w_.model) && w_.model != teams_model && w_.model != uniform_model) {
      std::string names;
      for (const generate_model& m : generate_models()) {
        names.append(names.empty() ? "" : ", ").append(m.name);
      }
      add("model", "there is no model \"" + w_.model + "\" (expected " + names + ")");
      return std::move(found_);
    }
    for (const parameter_use& p : parameter_uses()) {
      const auto is_mine = [&](std::string_view model) { return model == w_.model; };
      if (!is_said(w_, p.parameter) || std::any_of(p.models.begin(), p.models.end(), is_mine)) continue;
      add(p.parameter, p.models.size() == 1 ? "only the model " + std::string{p.models.front()} + " has it"
                                            : "only the models " + enumerated(p.models) + " have it");
    }
    find_in_amounts();
    find_in_tenants();
    find_in_parts();
    return std::move(found_);
  }

 private:
  void add(std::string_view parameter, std::string text) { found_.push_back({parameter, std::move(text)}); }
  void expect(std::string_view parameter, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (least <= value && value <= most) return;
    add(parameter, "expected " + std::to_string(least) + " to " + std::to_string(most));
  }

  void find_in_amounts() {
    if (w_.days && w_.jobs) add("jobs", "expected days or jobs; the other follows from the load");
    if (w_.days) expect("days", *w_.days, 1, 3650);
    if (w_.jobs) expect("jobs", *w_.jobs, 1, 100'000'000);
    expect("gpus", w_.gpus, 8, most_gpus);
    if (w_.load < 0 || w_.load > most_generated_load) {
      add("load", "expected a number from 0 to 10, as in 0.9");
    } else if (w_.load == 0 && w_.model != teams_model) {
      add("load", "expected a number above 0, as in 0.9");
    }
    if (w_.checkpoint && w_.checkpoint->every == 0) {
      add("checkpoint_s", "expected more than 0, or \"none\": they save nothing on the way");
    }
    if (w_.mean_duration && *w_.mean_duration == 0) add("mean_duration_s", "expected more than 0");
  }

  void find_in_tenants() {
    if (w_.tenants) expect("tenants", *w_.tenants, 1, w_.model == uniform_model ? 100'000 : 1'000);
    if (w_.tenants && !w_.training.empty()) add("training", "there are \"tenants\": expected one of the two");
    if (w_.tenants && w_.serving_tenant) {
      add("serving_tenant", "there are \"tenants\": expected one of the two");
    }
    const auto serves = [&](const tenant_share& t) { return t.name == w_.serving_tenant; };
    if (w_.model == teams_model && std::any_of(w_.training.begin(), w_.training.end(), serves)) {
      add("serving_tenant", "expected a tenant that does not train");
    }
  }

  void find_in_parts() {
    const auto is_part = [&](std::int64_t part) { return 0 <= part && part <= w_.load; };
    const workload_mix mix = mix_of(w_);
    const bool serving = !w_.serving || is_part(*w_.serving);
    const bool interactive = !w_.interactive || is_part(*w_.interactive);
    if (!serving) add("serving", "expected a number from 0 to the load, as in 0.11");
    if (!interactive) add("interactive", "expected a number from 0 to the load, as in 0.08");
    if (w_.model == "mix" && w_.load > 0 && serving && interactive &&
        mix.inference_permille + mix.interactive_permille >= w_.load) {
      add(w_.serving ? "serving" : "interactive",
          "expected less serving and interactive sessions than the load together, so that there is some "
          "training");
    }
  }

  const generated_workload& w_;
  vector<parameter_problem> found_;
};

vector<tenant_share> read_training(json_value value, errors& found) {
  vector<tenant_share> training;
  if (!expect_object(value, found)) return training;
  const std::size_t before = found.size();
  value.for_each([&](json_value team) {
    const auto gpus = read_whole(team, 1, most_gpus, found);
    if (gpus) training.push_back({std::string{team.key()}, static_cast<std::uint64_t>(*gpus)});
  });
  if (training.empty() && found.size() == before) {
    value.report(found, "expected a team or more, with the GPUs of each: {\"b\": 48}");
  }
  return training;
}

trace make_teams(const generated_workload& w, std::uint64_t seed) {
  team_workload t;
  t.seed = seed;
  t.days = w.days.value_or(two_weeks);
  t.cluster_gpus = w.gpus;
  t.load_permille = w.load;
  t.serving_permille = mix_of(w).inference_permille;
  if (w.serving_tenant) t.serving_tenant = *w.serving_tenant;
  if (w.checkpoint) t.checkpoint = w.checkpoint->every;
  t.restart = w.restart.value_or(t.restart);
  if (!w.training.empty()) {
    t.training.clear();
    for (const tenant_share& team : w.training) {
      t.training.push_back({team.name, team.name + '-', static_cast<std::int64_t>(team.share)});
    }
  } else {
    // The teams of the demo, 48 and 80 of 128 GPUs, in proportion.
    t.training.front().gpus = std::max<std::int64_t>(1, w.gpus * 48 / 128);
    t.training.back().gpus = w.gpus - t.training.front().gpus;
  }
  return generate_teams(t);
}

trace make_uniform(const generated_workload& w, std::uint64_t seed) {
  uniform_workload u;
  u.seed = seed;
  u.jobs = static_cast<std::size_t>(w.jobs.value_or(10'000));
  u.tenants = static_cast<std::size_t>(w.tenants.value_or(3));
  u.cluster_gpus = w.gpus;
  u.load_permille = w.load;
  u.mean_duration = w.mean_duration.value_or(hour);
  return generate_uniform(u);
}

workload_tenants tenants_of(const generated_workload& w) {
  if (w.tenants) return numbered_tenants(static_cast<std::size_t>(*w.tenants));
  workload_tenants tenants = demo_tenants();
  if (!w.training.empty()) tenants.training = tenants.interactive = w.training;
  if (w.serving_tenant) tenants.inference = {{*w.serving_tenant, 1}};
  return tenants;
}

}  // namespace

const vector<generate_model>& generate_models() {
  static const vector<generate_model> all = {
      {"mix", "training, inference and interactive sessions"},
      {"philly", "training as at Microsoft in 2017"},
      {"helios", "training as at SenseTime in 2020"},
      {"openb", "pods with parts of GPUs as at Alibaba in 2023"},
      {"inference", "services that follow the day"},
      {"interactive", "sessions, a third of them forgotten"},
      {teams_model, "the three teams of the demo"},
      {uniform_model, "jobs without rhythm, exponential: for benchmarks"},
  };
  return all;
}

std::optional<estimate_model> read_estimates(std::string_view name, std::string& problem) {
  const auto model = find_estimate_model(name);
  if (model) return model;
  vector<std::string_view> names;
  for (const estimate_model_name& m : estimate_models) names.push_back(m.name);
  problem = "there is no model of estimates \"" + std::string{name} + '"' + meant_or_expected(name, names);
  return std::nullopt;
}

std::optional<estimate_model> read_estimates(json_value value, errors& found) {
  const auto name = read_string(value, found);
  if (!name) return std::nullopt;
  std::string problem;
  const auto model = read_estimates(*name, problem);
  if (!model) value.report(found, problem);
  return model;
}

vector<parameter_problem> problems_of(const generated_workload& w) {
  return problem_finder{w}.find();
}

std::optional<generated_workload> read_generated(json_value value, errors& found) {
  const std::size_t before = found.size();
  if (!expect_object(value, found)) return std::nullopt;
  json_object o{value, found};
  generated_workload w;
  w.model = teams_model;
  if (const auto v = o.find("model")) w.model = read_string(*v, found).value_or(w.model);
  const auto whole = [&](std::string_view key, std::optional<std::int64_t>& to) {
    constexpr std::int64_t any = 1'000'000'000'000;
    if (const auto v = o.find(key)) to = read_whole(*v, -any, any, found);
  };
  const auto milli = [&](std::string_view key, std::optional<std::int64_t>& to) {
    if (const auto v = o.find(key)) to = read_milli(*v, found);
  };
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> load;
  whole("days", w.days);
  whole("jobs", w.jobs);
  whole("gpus", gpus);
  whole("tenants", w.tenants);
  milli("load", load);
  milli("serving", w.serving);
  milli("interactive", w.interactive);
  milli("restart_s", w.restart);
  milli("mean_duration_s", w.mean_duration);
  if (const auto v = o.find("checkpoint_s")) {
    if (v->is_string() && v->text() == "none") {
      w.checkpoint = checkpointing{};
    } else if (!v->is_number()) {
      v->report(found, "expected seconds or \"none\", found " + v->shown());
    } else if (const auto time = read_milli(*v, found)) {
      w.checkpoint = checkpointing{*time};
    }
  }
  if (const auto v = o.find("training")) w.training = read_training(*v, found);
  if (const auto v = o.find("serving_tenant")) w.serving_tenant = read_string(*v, found);
  if (const auto v = o.find("estimates")) w.estimates = read_estimates(*v, found).value_or(w.estimates);
  o.reject_unknown();
  w.gpus = gpus.value_or(w.gpus);
  w.load = load.value_or(w.load);
  if (found.size() != before) return std::nullopt;
  // The loads of an experiment scale this load.
  if (load == 0 && w.model == teams_model)
    o.find("load")->report(found, "expected more than 0 and at most 10, found 0");
  for (const parameter_problem& p : problems_of(w)) {
    const auto at = value.find(p.parameter);
    at.value_or(value).report(
        found, at ? p.text + ", found " + at->shown() : std::string{p.parameter} + ": " + p.text);
  }
  return found.size() == before ? std::optional{std::move(w)} : std::nullopt;
}

generated_workload at_load(generated_workload w, std::int64_t load) {
  const workload_mix mix = mix_of(w);
  const bool is_mix = w.model == "mix";
  if (is_mix || w.model == teams_model) w.serving = mix.inference_permille * load / w.load;
  if (is_mix) w.interactive = mix.interactive_permille * load / w.load;
  w.load = load;
  return w;
}

std::optional<workload_stream> stream_of(const generated_workload& w, std::uint64_t seed) {
  const auto kind = kind_of(w.model);
  if (!kind) return std::nullopt;
  workload_size size;
  size.seed = seed;
  size.cluster_gpus = w.gpus;
  size.load_permille = w.load;
  if (w.jobs) {
    size.jobs = static_cast<std::uint64_t>(*w.jobs);
  } else {
    size.days = w.days.value_or(two_weeks);
  }
  // In a mix no job keeps GPUs for longer than the batch queues of most clusters allow.
  size.longest = *kind == workload_kind::mix ? 3 * day : 14 * day;
  vector<workload_part> parts = make_parts(*kind, tenants_of(w), size, mix_of(w));
  for (workload_part& p : parts) {
    if (p.job_class != "train") continue;
    if (w.checkpoint) p.checkpoint = w.checkpoint->every;
    p.restart = w.restart.value_or(p.restart);
  }
  return workload_stream{std::move(parts), size};
}

trace make_generated(const generated_workload& w, std::uint64_t seed) {
  trace made;
  if (auto stream = stream_of(w, seed)) {
    made = to_trace(*stream);
  } else {
    made = w.model == uniform_model ? make_uniform(w, seed) : make_teams(w, seed);
  }
  set_estimates(made, w.estimates, seed);
  return made;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
