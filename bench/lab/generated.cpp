// SPDX-License-Identifier: BSL-1.0
#include "lab/generated.hpp"

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_load = 10'000;
constexpr std::int64_t most_gpus = 1'000'000;

void read_training(json_value value, generated_workload& to, errors& found) {
  if (!expect_object(value, found)) return;
  value.for_each([&](json_value team) {
    const auto gpus = read_whole(team, 1, most_gpus, found);
    std::string name{team.key()};
    std::string prefix = name + '-';
    if (gpus) to.training.push_back({std::move(name), std::move(prefix), *gpus});
  });
  if (to.training.empty()) value.report(found, "expected a team or more, with the GPUs of each: {\"b\": 48}");
}

void read_teams(json_object& w, generated_workload& to, errors& found) {
  const auto whole = [&](std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& into) {
    if (const auto v = w.find(key)) into = read_whole(*v, least, most, found).value_or(into);
  };
  whole("days", 1, 3650, to.days);
  if (const auto v = w.find("serving")) {
    to.serving = read_milli(*v, found).value_or(0);
    if (to.serving > to.load) v->report(found, "expected at most the load, found " + v->shown());
  } else {
    to.serving = std::min(to.serving, to.load);
  }
  if (const auto v = w.find("training")) read_training(*v, to, found);
  if (const auto v = w.find("serving_tenant")) {
    to.serving_tenant = read_string(*v, found).value_or("");
    const auto same = [&](const sim::training_team& t) { return t.tenant == to.serving_tenant; };
    if (std::any_of(to.training.begin(), to.training.end(), same)) {
      v->report(found, "expected a tenant that does not train");
    }
  }
}

}  // namespace

std::optional<generated_workload> read_generated(json_value value, errors& found) {
  const std::size_t before = found.size();
  if (!expect_object(value, found)) return std::nullopt;
  json_object w{value, found};
  generated_workload to;
  if (const auto v = w.find("model")) {
    const auto model = read_word(*v, {"teams", "uniform"}, found);
    to.model = model == 1U ? "uniform" : "teams";
  }
  const auto whole = [&](std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& into) {
    if (const auto v = w.find(key)) into = read_whole(*v, least, most, found).value_or(into);
  };
  whole("gpus", 8, most_gpus, to.gpus);
  if (const auto v = w.find("load")) {
    to.load = read_milli(*v, found).value_or(to.load);
    if (to.load == 0 || to.load > most_load)
      v->report(found, "expected more than 0 and at most 10, found " + v->shown());
  }
  if (to.model == "teams") {
    read_teams(w, to, found);
  } else {
    whole("jobs", 1, 100'000'000, to.jobs);
    whole("tenants", 1, 100'000, to.tenants);
    if (const auto v = w.find("mean_duration_s")) {
      to.mean_duration = read_milli(*v, found).value_or(to.mean_duration);
      if (to.mean_duration == 0) v->report(found, "expected more than 0");
    }
  }
  w.reject_unknown();
  return found.size() == before ? std::optional{std::move(to)} : std::nullopt;
}

sim::trace make_generated(const generated_workload& w, std::uint64_t seed) {
  if (w.model == "uniform") {
    sim::uniform_workload u;
    u.seed = seed;
    u.jobs = static_cast<std::size_t>(w.jobs);
    u.tenants = static_cast<std::size_t>(w.tenants);
    u.cluster_gpus = w.gpus;
    u.load_permille = w.load;
    u.mean_duration = w.mean_duration;
    return sim::generate_uniform(u);
  }
  sim::team_workload t;
  t.seed = seed;
  t.days = w.days;
  t.cluster_gpus = w.gpus;
  t.load_permille = w.load;
  t.serving_permille = std::min(w.serving, w.load);
  t.serving_tenant = w.serving_tenant;
  if (!w.training.empty()) {
    t.training = w.training;
  } else {
    // The teams of `allot generate`, 48 and 80 of 128, in proportion.
    t.training.front().gpus = std::max<std::int64_t>(1, w.gpus * 48 / 128);
    t.training.back().gpus = w.gpus - t.training.front().gpus;
  }
  return sim::generate_teams(t);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
