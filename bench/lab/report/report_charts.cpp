// SPDX-License-Identifier: BSL-1.0
// The charts of the report, and their contents.
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

[[nodiscard]] std::int64_t part_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0
                    : static_cast<std::int64_t>(wide{static_cast<std::uint64_t>(part)} * million /
                                                static_cast<std::uint64_t>(whole));
}

[[nodiscard]] std::int64_t most_of(const vector<std::int64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}
[[nodiscard]] std::int64_t most_of(const chart::steps& curve) {
  std::int64_t most = 0;
  for (const auto& [at, value] : curve) most = std::max(most, value);
  return most;
}

std::string colour_class(std::size_t colour) {
  return "q" + std::to_string(colour);
}

void explain_layers(chart& c, const vector<layer>& layers) {
  for (const layer& l : layers) c.explain(colour_class(l.colour), l.name);
}

/// Writes a name on every layer that is thick and long enough for it somewhere.
void name_layers(chart& c, const vector<layer>& layers, const vector<vector<std::int64_t>>& of,
                 std::int64_t top) {
  if (of.empty() || of.front().empty()) return;
  const std::size_t n = of.front().size();
  vector<std::int64_t> below(n, 0);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    // On a page of usual width a character takes about a hundredth of the chart.
    const std::size_t reach = std::max<std::size_t>(1, (layers[k].name.size() + 3) * n / 220);
    std::int64_t best = 0;
    std::size_t at = 0;
    for (std::size_t i = reach; i + reach < n; i += std::max<std::size_t>(1, reach / 4)) {
      // The room that is free along the whole name.
      std::int64_t low = 0;
      std::int64_t high = top;
      for (std::size_t j = i - reach; j <= i + reach; ++j) {
        low = std::max(low, below[j]);
        high = std::min(high, below[j] + of[k][j]);
      }
      if (high - low > best) {
        best = high - low;
        at = i;
      }
    }
    if (best * 12 >= top) {
      std::int64_t low = 0;
      std::int64_t high = top;
      for (std::size_t j = at - reach; j <= at + reach; ++j) {
        low = std::max(low, below[j]);
        high = std::min(high, below[j] + of[k][j]);
      }
      c.label(static_cast<std::int64_t>((2 * at + 1) * 500'000 / n), (low + high) / 2, layers[k].name,
              "w" + std::to_string(layers[k].colour));
    }
    for (std::size_t i = 0; i < n; ++i) below[i] += of[k][i];
  }
}

chart::steps curve_of_nominal(const replayed_time& t, const replayed_quota& q) {
  chart::steps curve;
  for (const auto& [at, nominal] : q.nominal) {
    const instant from = std::clamp(at, t.begin, t.end) - t.begin;
    curve.emplace_back(curve.empty() ? 0 : part_of(from, t.end - t.begin), nominal.value_or(0));
  }
  if (!curve.empty()) curve.emplace_back(million, curve.back().second);
  return curve;
}

class maker {
 public:
  maker(const replay_result& r, const vector<layer>& layers, const vector<drawn_distribution>& distributions)
      : r_(r), t_(r.time), layers_(layers), distributions_(distributions), spans_(r.time.used.means.size()) {}

  [[nodiscard]] report_charts all() const {
    report_charts charts;
    if (t_.end <= t_.begin) return charts;
    charts.all.push_back(gpus());
    quotas(charts);
    lending(charts.all);
    charts.all.push_back(waiting());
    reserved(charts.all);
    if (r_.figures.capacity_is_bounded) charts.all.push_back(utilisation());
    preemptions(charts.all);
    distributions(charts.all);
    return charts;
  }

 private:
  [[nodiscard]] chart over_time(std::string name, std::string title, std::string note,
                                std::string kind) const {
    chart c{std::move(name), std::move(title), std::move(note), std::move(kind)};
    c.set_ticks(time_ticks(t_.begin, t_.end), std::string{time_axis_title});
    return c;
  }
  [[nodiscard]] vector<vector<std::int64_t>> of_layers(const vector<drawn_series>& of) const {
    vector<vector<std::int64_t>> sums;
    for (const layer& l : layers_) sums.push_back(sum_of(of, l.quotas, spans_));
    return sums;
  }
  void stack_layers(chart& c, const vector<vector<std::int64_t>>& of) const {
    vector<chart::steps> curves;
    vector<std::string> css;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      curves.push_back(curve_of(t_, of[k]));
      css.push_back("area " + colour_class(layers_[k].colour));
    }
    stack(c, curves, css);
  }

  [[nodiscard]] chart gpus() const {
    chart c =
        over_time("gpus", "GPUs in use", "by the jobs of each quota; the line is what there is", "gpus");
    const auto used = of_layers(t_.used_of);
    const std::int64_t capacity = r_.figures.capacity_is_bounded ? most_of(t_.capacity.means) : 0;
    const scale y = scale_for(std::max(most_of(t_.used.means), capacity));
    c.set_values(y, "GPUs");
    c.make_tall();
    stack_layers(c, used);
    if (capacity > 0) c.line(curve_of(t_, t_.capacity.means), "capacity");
    name_layers(c, layers_, used, y.top);
    explain_layers(c, layers_);
    return c;
  }

  /// On one scale, unless that would make some of them flat.
  void quotas(report_charts& charts) const {
    constexpr std::int64_t most_times = 10;
    vector<std::int64_t> tops;
    for (const layer& l : layers_) {
      if (l.quotas.size() != 1) continue;
      charts.quotas.push_back(quota(l));
      tops.push_back(charts.quotas.back().top());
    }
    if (tops.empty()) return;
    const auto [least, most] = std::minmax_element(tops.begin(), tops.end());
    charts.has_one_scale = *most / most_times <= *least;
    if (!charts.has_one_scale) return;
    for (chart& c : charts.quotas) c.set_values(scale_for(*most), "GPUs");
  }

  [[nodiscard]] chart quota(const layer& l) const {
    const std::size_t x = l.quotas.front();
    const std::string colour = colour_class(l.colour);
    const quota_figures& f = r_.figures.quotas[x];
    const auto hours = [](wide gpu_time) { return rounded(milli_gpu_hours(gpu_time), 0); };
    std::string note = hours(f.of.allocated) + " GPU-h used";
    note += ", " + hours(f.of.borrowed) + " borrowed, " + hours(f.of.lent) + " lent";
    chart c = over_time("quota", l.name, note, "quota:" + std::to_string(&l - layers_.data()));
    vector<std::int64_t> used = sum_of(t_.used_of, l.quotas, spans_);
    vector<std::int64_t> own = used;
    vector<std::int64_t> with_lent = used;
    for (std::size_t i = 0; i < spans_; ++i) {
      own[i] -= std::min(own[i], t_.borrowed_of[x].at(i));
      with_lent[i] += t_.lent_of[x].at(i);
    }
    // An inner quota's nominal is also its children's.
    const chart::steps nominal =
        r_.is_inner(quota_id{x}) ? chart::steps{} : curve_of_nominal(t_, r_.quotas[x]);
    const vector<std::int64_t> entitled = sum_of(t_.entitled_of, l.quotas, spans_);
    c.set_values(
        scale_for(std::max<std::int64_t>({1000, most_of(with_lent), most_of(entitled), most_of(nominal)})),
        "GPUs");
    c.area(curve_of(t_, with_lent), "area lent");
    c.area(curve_of(t_, used), "area pale " + colour);
    c.area(curve_of(t_, own), "area " + colour);
    c.line(curve_of(t_, entitled), "entitled");
    if (most_of(nominal) > 0) c.line(nominal, "nominal");
    c.explain("area " + colour, "of its own");
    c.explain("area pale " + colour, "borrowed");
    c.explain("area lent", "lent to others");
    c.explain("rule nominal", "what it owns");
    c.explain("rule entitled", "its fair share");
    return c;
  }

  void lending(vector<chart>& charts) const {
    const auto borrowed = of_layers(t_.borrowed_of);
    auto lent = of_layers(t_.lent_of);
    vector<std::int64_t> up(spans_, 0);
    vector<std::int64_t> down(spans_, 0);
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      for (std::size_t i = 0; i < spans_; ++i) {
        up[i] += borrowed[k][i];
        down[i] += lent[k][i];
        lent[k][i] = -lent[k][i];
      }
    }
    const std::int64_t most = std::max(most_of(up), most_of(down));
    if (most == 0) return;
    chart c = over_time(
        "lending", "Who borrows, who lends",
        "above the line: GPUs that a quota's jobs have of others; below: what others have of it", "lending");
    const scale y = scale_for(most);
    c.set_values(y, "GPUs", -y.top);
    stack_layers(c, borrowed);
    stack_layers(c, lent);
    explain_layers(c, layers_);
    charts.push_back(std::move(c));
  }

  [[nodiscard]] chart waiting() const {
    chart c = over_time("waiting", "Waiting jobs", "submitted and not running, by quota", "waiting");
    auto pending = of_layers(t_.pending_of);
    vector<std::int64_t> all(spans_, 0);
    for (auto& of_layer : pending) {
      for (std::size_t i = 0; i < spans_; ++i) all[i] += of_layer[i] *= 1000;
    }
    c.set_values(scale_for(std::max<std::int64_t>(1000, most_of(all)), true), "jobs");
    stack_layers(c, pending);
    explain_layers(c, layers_);
    return c;
  }

  void reserved(vector<chart>& charts) const {
    const auto reserved = of_layers(t_.reserved_of);
    vector<std::int64_t> all(spans_, 0);
    for (const auto& of_layer : reserved) {
      for (std::size_t i = 0; i < spans_; ++i) all[i] += of_layer[i];
    }
    if (most_of(all) == 0) return;
    chart c = over_time("reserved", "Reservations",
                        "GPUs that waiting jobs have a reservation for, by quota: when each starts is in the "
                        "list of any instant",
                        "reserved");
    c.set_values(scale_for(most_of(all)), "GPUs");
    stack_layers(c, reserved);
    explain_layers(c, layers_);
    charts.push_back(std::move(c));
  }

  [[nodiscard]] chart utilisation() const {
    const bool has_nodes = r_.cluster != nullptr;
    chart c = over_time("utilisation", has_nodes ? "Utilisation and fragmentation" : "Utilisation",
                        has_nodes ? "of all GPUs: in use; idle on nodes that are partly in use, where a pod "
                                    "that takes a whole node finds no room; the rest is idle on empty nodes"
                                  : "GPUs in use, in percent of what there is",
                        "utilisation");
    vector<std::int64_t> used(spans_, 0);
    vector<std::int64_t> stranded(spans_, 0);
    for (std::size_t i = 0; i < spans_; ++i) {
      const std::int64_t capacity = t_.capacity.at(i);
      used[i] = part_of(t_.used.at(i), capacity) / 10;
      stranded[i] = part_of(t_.stranded.at(i), capacity) / 10;
    }
    c.set_values({100'000, 25'000}, "%");
    stack(c, {curve_of(t_, used), curve_of(t_, stranded)}, {"area busy", "area stranded"});
    c.explain("busy", "in use");
    if (has_nodes) c.explain("stranded", "idle on nodes partly in use");
    return c;
  }

  void preemptions(vector<chart>& charts) const {
    if (r_.moments.cuts().empty()) return;
    chart c = over_time("preemptions", "Preemptions",
                        "runs that were cut short in every " +
                            human_time((t_.end - t_.begin) / static_cast<instant>(preemption_spans)) +
                            ", by the quota that lost them",
                        "preemptions");
    const auto counts = preemptions_of(r_, layers_);
    vector<chart::steps> curves;
    vector<std::string> css;
    vector<std::int64_t> all(preemption_spans, 0);
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      chart::steps& curve = curves.emplace_back();
      css.push_back("area " + colour_class(layers_[k].colour));
      for (std::size_t i = 0; i < preemption_spans; ++i) {
        const std::int64_t n = std::int64_t{counts[k][i]} * 1000;
        all[i] += n;
        curve.emplace_back(static_cast<std::int64_t>(i) * million / std::int64_t{preemption_spans}, n);
      }
      curve.emplace_back(million, curve.back().second);
    }
    if (most_of(all) == 0) return;
    c.set_values(scale_for(most_of(all), true), "runs");
    stack(c, curves, css);
    explain_layers(c, layers_);
    charts.push_back(std::move(c));
  }

  void distributions(vector<chart>& charts) const {
    for (const drawn_distribution& of : distributions_) {
      chart c{std::string{of.name}, std::string{of.title}, std::string{of.note},
              "cdf:" + std::to_string(&of - distributions_.data())};
      c.set_ticks(of.axis.ticks(), std::string{of.axis_title});
      c.make_tall();
      const auto line = [&](const vector<std::int64_t>& part, std::string css) {
        chart::steps curve;
        for (std::size_t i = 0; i < part.size(); ++i) {
          curve.emplace_back(
              static_cast<std::int64_t>(i) * million / static_cast<std::int64_t>(cdf_points - 1),
              part[i] / 10);
        }
        if (!curve.empty()) c.line(std::move(curve), std::move(css));
      };
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        line(of.parts[k], "curve s" + std::to_string(layers_[k].colour));
      }
      if (layers_.size() > 1) line(of.parts.back(), "curve everyone");
      c.set_values({100'000, 25'000}, "%");
      explain_layers(c, layers_);
      if (layers_.size() > 1) c.explain("rule everyone", "all jobs");
      charts.push_back(std::move(c));
    }
  }

  const replay_result& r_;
  const replayed_time& t_;
  const vector<layer>& layers_;
  const vector<drawn_distribution>& distributions_;
  std::size_t spans_;
};

}  // namespace

chart::steps curve_of(const replayed_time& t, const vector<std::int64_t>& means) {
  chart::steps curve;
  for (std::size_t i = 0; i < means.size(); ++i) {
    curve.emplace_back(part_of(static_cast<instant>(i) * t.width, t.end - t.begin), means[i]);
  }
  if (!means.empty()) curve.emplace_back(million, means.back());
  return curve;
}

vector<std::int64_t> sum_of(const vector<drawn_series>& of_quota, const vector<std::size_t>& quotas,
                            std::size_t spans) {
  vector<std::int64_t> sum(spans, 0);
  for (const std::size_t x : quotas) {
    for (std::size_t i = 0; x < of_quota.size() && i < spans; ++i) sum[i] += of_quota[x].at(i);
  }
  return sum;
}

void stack(chart& c, const vector<chart::steps>& layers, const vector<std::string>& css) {
  // The sum of all is drawn first and the first layer last, so that each covers what does not belong to it.
  vector<chart::steps> sums;
  for (const chart::steps& l : layers) {
    sums.push_back(l);
    for (std::size_t i = 0; sums.size() > 1 && i < l.size(); ++i) {
      sums.back()[i].second += sums[sums.size() - 2][i].second;
    }
  }
  for (std::size_t k = layers.size(); k-- > 0;) c.area(std::move(sums[k]), css[k]);
}

vector<std::int64_t> cdf_of(vector<instant> waits, const log_time_axis& axis) {
  std::sort(waits.begin(), waits.end());
  vector<std::int64_t> part(cdf_points, 0);
  std::size_t started = 0;
  for (std::size_t i = 0; i < cdf_points; ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) * million / std::int64_t{cdf_points - 1};
    while (started < waits.size() && axis.position(waits[started]) <= place) ++started;
    part[i] = part_of(static_cast<std::int64_t>(started), static_cast<std::int64_t>(waits.size()));
  }
  return part;
}

vector<vector<std::uint32_t>> preemptions_of(const replay_result& r, const vector<layer>& layers) {
  vector<vector<std::uint32_t>> counts(layers.size(), vector<std::uint32_t>(preemption_spans, 0));
  const vector<std::size_t> layer_of = layers_by_quota(r, layers, layers.size());
  const auto jobs = jobs_by_index(r);
  const instant span = std::max<instant>(1, r.time.end - r.time.begin);
  for (const cut_short& c : r.moments.cuts()) {
    const std::size_t k = layer_of[jobs[c.job]->quota.index()];
    if (c.is_pod || k == layers.size()) continue;
    const auto i = static_cast<std::size_t>(wide{static_cast<std::uint64_t>(c.at - r.time.begin)} *
                                            preemption_spans / static_cast<std::uint64_t>(span));
    ++counts[k][std::min(i, preemption_spans - 1)];
  }
  return counts;
}

vector<vector<instant>> waits_of(const replay_result& r, const vector<layer>& layers) {
  vector<vector<instant>> waits(layers.size());
  const vector<std::size_t> layer_of = layers_by_quota(r, layers, layers.size());
  for (const replayed_job& j : r.jobs) {
    const std::size_t k = layer_of[j.quota.index()];
    if (j.start && k < layers.size()) waits[k].push_back(std::max<instant>(0, *j.start - j.submit));
  }
  return waits;
}

const chart* report_charts::find(std::string_view name) const {
  for (const chart& c : all) {
    if (c.name() == name) return &c;
  }
  return nullptr;
}

vector<drawn_distribution> distributions_of(const replay_result& r, const vector<layer>& layers) {
  enum what : std::size_t { first_start, total_wait, completion, slowdown, kinds };
  // The last of each is of all jobs.
  std::array<vector<vector<instant>>, kinds> of;
  for (auto& layers_of : of) layers_of.resize(layers.size() + 1);
  of[first_start] = waits_of(r, layers);
  of[first_start].emplace_back();
  const vector<std::size_t> layer_of = layers_by_quota(r, layers, layers.size());
  for (const replayed_job& j : r.jobs) {
    const std::size_t k = layer_of[j.quota.index()];
    if (j.outcome != sim::job_outcome::completed || !j.end || k == layers.size()) continue;
    const instant took = *j.end - j.submit;
    of[total_wait][k].push_back(j.wait);
    of[completion][k].push_back(took);
    of[slowdown][k].push_back(bounded_slowdown_in_thousandths(took, j.duration, short_time));
  }
  vector<drawn_distribution> all;
  const auto add = [&](what kind, std::string_view name, std::string_view title, std::string_view note,
                       std::string_view axis_title) {
    vector<vector<instant>>& samples = of[kind];
    for (std::size_t k = 0; k < layers.size(); ++k)
      samples.back().append(samples[k].begin(), samples[k].end());
    if (samples.back().empty()) return;
    const instant longest = *std::max_element(samples.back().begin(), samples.back().end());
    const bool is_ratio = kind == slowdown;
    drawn_distribution d{name, title, note, axis_title,
                         is_ratio ? log_time_axis::of_ratios(longest) : log_time_axis{longest}};
    d.is_ratio = is_ratio;
    for (vector<instant>& sample : samples) {
      d.parts.push_back(sample.empty() ? vector<std::int64_t>{} : cdf_of(std::move(sample), d.axis));
    }
    all.push_back(std::move(d));
  };
  add(first_start, "waiting_times", "How long jobs wait",
      "the part of the jobs that had started after so long; of those that started at all", wait_axis_title);
  add(total_wait, "total_wait", "How long they wait in all",
      "the part of the jobs that waited no longer, from their submission and after preemptions; of those "
      "that completed",
      "all waiting of a job, also after preemptions");
  add(completion, "completion", "How long jobs take",
      "the part of the jobs that had completed after so long; of those that completed at all",
      "time from submission to completion");
  add(slowdown, "slowdown", "How much waiting slows them down",
      "the part of the jobs that took no more than so many times as long as they run, which counts as 10 s "
      "at least; of those that completed",
      "completion time as a multiple of the time a job runs");
  return all;
}

report_charts charts_of(const replay_result& r, const vector<layer>& layers,
                        const vector<drawn_distribution>& distributions) {
  return maker{r, layers, distributions}.all();
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
