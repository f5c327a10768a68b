// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/generate.hpp>
#include <allot/lab/random.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::array<std::uint64_t, 6> training_size_weights = {62, 14, 10, 10, 3, 1};

constexpr std::array<quantile, 7> small_training_durations = {{{0, 30 * second},
                                                               {250, 3 * minute},
                                                               {500, 20 * minute},
                                                               {750, 2 * hour},
                                                               {900, 8 * hour},
                                                               {990, 36 * hour},
                                                               {1000, 72 * hour}}};
constexpr std::array<quantile, 7> gang_training_durations = {{{0, minute},
                                                              {250, 10 * minute},
                                                              {500, hour},
                                                              {750, 4 * hour},
                                                              {900, 12 * hour},
                                                              {990, 36 * hour},
                                                              {1000, 72 * hour}}};
constexpr std::array<quantile, 5> large_training_durations = {
    {{0, 2 * minute}, {500, hour}, {750, 3 * hour}, {900, 8 * hour}, {1000, 24 * hour}}};

constexpr std::array<std::uint64_t, 24> training_hours = {40,  35,  30,  30,  30,  35,  45,  60,
                                                          90,  140, 165, 170, 140, 150, 170, 175,
                                                          170, 160, 140, 120, 110, 95,  75,  55};
constexpr std::array<std::uint64_t, 24> serving_hours = {10, 10, 10, 10, 10, 20, 50, 100, 140, 150, 130, 110,
                                                         90, 90, 90, 90, 80, 60, 40, 30,  20,  15,  10,  10};

/// A job that has no id yet.
struct job_draft {
  instant submit = 0;
  instant duration = 0;
  std::int64_t gpus = 0;
};

/// The activity of each team in each hour, in percent of its average.
[[nodiscard]] vector<vector<std::uint64_t>> training_phases(const team_workload& w) {
  const std::size_t teams = w.training.size();
  const auto hours = static_cast<std::size_t>(w.days) * 24;
  vector<vector<std::uint64_t>> busy(teams, vector<std::uint64_t>(hours));
  random_stream random{w.seed};
  // Each team leads once, then all are busy; the second round ends in a calm.
  const std::size_t round = teams + 1;
  std::size_t h = 0;
  for (std::size_t phase = 0; h < hours; ++phase) {
    const auto until = std::min(hours, h + static_cast<std::size_t>(draw_between(random, 18, 42)));
    const std::size_t leader = phase % round;
    const bool calm = phase / round % 2 == 1;
    for (; h < until; ++h) {
      for (std::size_t team = 0; team < teams; ++team) {
        busy[team][h] = leader == teams ? (calm ? 50U : 200U) : (leader == team ? 250U : 40U);
      }
    }
  }
  return busy;
}

/// Draws jobs by `draw(random)` until they are `work` GPU-milliseconds, the last one cut to fit, and spreads
/// them over the hours by weight.
template <class Draw>
[[nodiscard]] vector<job_draft> draw_work(random_stream random, std::int64_t work,
                                          std::span<const std::uint64_t> hour_weights, Draw draw) {
  vector<job_draft> drafts;
  const weighted_choice choose_hour{hour_weights};
  while (work >= minute) {
    job_draft draft = draw(random);
    draft.duration = std::min(draft.duration, std::max<std::int64_t>(1, work / draft.gpus));
    draft.submit = static_cast<instant>(choose_hour(random)) * hour + draw_between(random, 0, hour - 1);
    work -= draft.duration * draft.gpus;
    drafts.push_back(draft);
  }
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const job_draft& a, const job_draft& b) { return a.submit < b.submit; });
  return drafts;
}

[[nodiscard]] job_draft draw_training(random_stream& random, const weighted_choice& choose_size) {
  job_draft draft;
  draft.gpus = std::int64_t{1} << choose_size(random);
  draft.duration = draft.gpus <= 2   ? draw_from_quantiles(random, small_training_durations)
                   : draft.gpus <= 8 ? draw_from_quantiles(random, gang_training_durations)
                                     : draw_from_quantiles(random, large_training_durations);
  return draft;
}

[[nodiscard]] std::string numbered(std::string_view prefix, std::size_t number) {
  const std::string digits = std::to_string(number);
  std::string name{prefix};
  name += '-';
  if (digits.size() < 5) name.append(5 - digits.size(), '0');
  return name += digits;
}

void add_jobs(trace& t, const trace_job& like, std::string_view prefix, const job_draft& draft,
              std::size_t& number, std::int64_t count) {
  for (; count > 0; --count) {
    trace_job job = like;
    job.id = t.ids.intern(numbered(prefix, ++number)).name;
    job.submit = draft.submit;
    job.duration = draft.duration;
    job.gpus = quantity::whole(draft.gpus);
    t.jobs.push_back(job);
  }
}

}  // namespace

trace generate_teams(const team_workload& w) {
  ALLOT_ASSERT(w.days >= 1 && w.days <= 10'000 && w.cluster_gpus >= 1 && w.cluster_gpus <= 1'000'000,
               "1 to 10,000 days on 1 to 1,000,000 GPUs");
  ALLOT_ASSERT(0 <= w.serving_permille && w.serving_permille <= w.load_permille && w.load_permille <= 10'000,
               "0 <= serving <= load <= 10,000 permille");
  const auto hours = static_cast<std::size_t>(w.days) * 24;
  const auto rhythm = [&](const std::array<std::uint64_t, 24>& daily, std::uint64_t weekend_percent) {
    vector<std::uint64_t> weights(hours);
    for (std::size_t h = 0; h < hours; ++h) {
      weights[h] = daily[h % 24] * (h / 24 % 7 < 5 ? 100 : weekend_percent);
    }
    return weights;
  };
  const std::int64_t permille_of_cluster = w.cluster_gpus * w.days * (day / 1000);

  std::int64_t all_teams = 0;
  for (const training_team& team : w.training) all_teams += team.gpus;
  ALLOT_ASSERT(!w.training.empty() && all_teams > 0, "a team to train");
  const wide training_work =
      static_cast<wide>(w.load_permille - w.serving_permille) * static_cast<wide>(permille_of_cluster);
  const vector<vector<std::uint64_t>> phases = training_phases(w);

  trace t;
  vector<vector<job_draft>> drafts;
  for (std::size_t i = 0; i < w.training.size(); ++i) {
    const training_team& team = w.training[i];
    ALLOT_ASSERT(team.gpus >= 1, "a team has a GPU");
    vector<std::uint64_t> weights = rhythm(training_hours, 50);
    for (std::size_t h = 0; h < hours; ++h) weights[h] *= phases[i][h];
    std::size_t sizes = 1;
    while (sizes < training_size_weights.size() && (std::int64_t{1} << sizes) <= team.gpus) ++sizes;
    const weighted_choice choose_size{std::span{training_size_weights}.first(sizes)};
    const auto work = static_cast<std::int64_t>(training_work * static_cast<wide>(team.gpus) /
                                                static_cast<wide>(all_teams));
    drafts.push_back(draw_work(random_stream{w.seed, i + 2}, work, weights,
                               [&](random_stream& random) { return draw_training(random, choose_size); }));
  }
  // A service is drawn as one job with as many GPUs as it has replicas.
  constexpr std::array<std::uint64_t, 8> replica_weights = {20, 30, 0, 30, 0, 0, 0, 20};
  const weighted_choice choose_replicas{replica_weights};
  drafts.push_back(draw_work(random_stream{w.seed, 1}, w.serving_permille * permille_of_cluster,
                             rhythm(serving_hours, 60), [&](random_stream& random) {
                               job_draft service;
                               service.gpus = static_cast<std::int64_t>(choose_replicas(random)) + 1;
                               service.duration = draw_log_uniform(random, 3 * hour, 24 * hour);
                               return service;
                             }));

  // Merged by time; jobs at the same instant are in the order of the teams.
  const name_id train = t.words.intern("train").name;
  const name_id inference = t.words.intern("inference").name;
  vector<std::size_t> next(drafts.size(), 0);
  vector<std::size_t> numbers(drafts.size(), 0);
  for (;;) {
    std::size_t first = drafts.size();
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      if (next[i] == drafts[i].size()) continue;
      if (first == drafts.size() || drafts[i][next[i]].submit < drafts[first][next[first]].submit) first = i;
    }
    if (first == drafts.size()) break;
    job_draft draft = drafts[first][next[first]++];
    trace_job like;
    if (first < w.training.size()) {
      like.tenant = t.tenants.intern(w.training[first].tenant).name;
      like.job_class = train;
      like.checkpoint = w.checkpoint;
      like.restart = w.restart;
      add_jobs(t, like, w.training[first].prefix, draft, numbers[first], 1);
    } else {
      like.tenant = t.tenants.intern(w.serving_tenant).name;
      like.job_class = inference;
      like.priority = w.serving_priority;
      like.preemptible = false;
      const std::int64_t replicas = std::exchange(draft.gpus, 1);
      add_jobs(t, like, w.serving_prefix, draft, numbers[first], replicas);
    }
  }
  sort_by_submission(t);
  return t;
}

trace generate_uniform(const uniform_workload& w) {
  ALLOT_ASSERT(w.tenants > 0 && w.cluster_gpus > 0 && w.load_permille > 0 && w.mean_duration > 0,
               "tenants, GPUs, load and durations are not zero");
  constexpr std::array<std::uint64_t, 4> size_weights = {70, 15, 10, 5};
  constexpr std::int64_t mean_centi_gpus = 180;
  const weighted_choice choose_size{size_weights};

  trace t;
  t.jobs.reserve(w.jobs);
  for (std::size_t i = 0; i < w.tenants; ++i) t.tenants.intern(std::string{"t"}.append(std::to_string(i)));
  // In nanoseconds, because on a large cluster more than one job per millisecond may arrive.
  constexpr std::int64_t nanoseconds = 1'000'000;
  const auto mean_gap =
      static_cast<std::int64_t>(static_cast<wide>(mean_centi_gpus) * static_cast<wide>(w.mean_duration) *
                                static_cast<wide>(10) * static_cast<wide>(nanoseconds) /
                                (static_cast<wide>(w.load_permille) * static_cast<wide>(w.cluster_gpus)));
  random_stream random{w.seed};
  std::int64_t now = 0;
  for (std::size_t i = 0; i < w.jobs; ++i) {
    now += draw_exponential(random, mean_gap);
    trace_job job;
    job.id = t.ids.intern(std::to_string(i)).name;
    job.tenant = name_id{static_cast<std::size_t>(draw_below(random, w.tenants))};
    job.submit = now / nanoseconds;
    job.duration = std::max<instant>(1, draw_exponential(random, w.mean_duration));
    job.gpus = quantity::whole(std::int64_t{1} << choose_size(random));
    t.jobs.push_back(job);
  }
  return t;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
