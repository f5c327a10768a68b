// SPDX-License-Identifier: BSL-1.0
#include "governor/src/page_history.hpp"

#include "governor/src/page_text.hpp"
#include "governor/src/snapshot_text.hpp"

#include <allot/core/quantity.hpp>

#include "lab/report/report.hpp"
#include "lab/report/report_chart.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace allot_governor {

namespace {

using allot::lab::report::chart;
using allot::lab::report::million;

/// More are narrower than what a pointer can hit.
constexpr milliseconds most_columns = 180;

/// How far the wall clock is ahead of Greenwich.
[[nodiscard]] milliseconds east_at(milliseconds at) {
  const std::time_t t = at / 1000;
  std::tm local{};
  localtime_r(&t, &local);
  return local.tm_gmtoff * milliseconds{1000};
}

class charts_writer {
 public:
  charts_writer(const history& past, const snapshot& s, const quota_colours& colours) : past_(past), s_(s) {
    const auto& all = past.steps();
    if (all.size() < 2) return;
    width_ = past.step_length();
    while ((all.back().begin - all.front().begin) / width_ >= most_columns) width_ *= 2;
    steps_ = merged(all, width_);
    begin_ = steps_.front().begin;
    end_ = steps_.back().begin + width_;
    choose_layers(colours);
  }

  [[nodiscard]] std::string write() {
    if (steps_.size() < 2) return {};
    html_ += "<h2>The last " + span_text(end_ - begin_) + "</h2>\n";
    write_gpus();
    html_ += "<div class=panels>";
    write_count("waiting", "Waiting jobs", "that their quota or its turn keeps waiting",
                [](const history::step& s) { return s.waiting * 1000 / s.samples; });
    write_count("evictions", "Evictions", "jobs that have left to make room, in every " + span_text(width_),
                [](const history::step& s) { return s.evictions * 1000; });
    html_ += "</div>\n";
    return std::move(html_);
  }

 private:
  struct layer {
    std::string name;
    std::string css;
  };

  /// One for each colour, one for all other quotas, and the last for jobs without a quota.
  void choose_layers(const quota_colours& colours) {
    for (const std::string& name : colours.names)
      layers_.push_back({name, "area q" + std::to_string(layers_.size())});
    const std::size_t others = layers_.size();
    layers_.push_back({"other quotas", "area q" + std::to_string(most_colours)});
    layers_.push_back({"jobs without a quota", "area outside"});
    std::map<std::string_view, std::size_t> colour_of;
    for (std::size_t x = 0; x < s_.quotas.size() && x < colours.of.size(); ++x)
      colour_of.emplace(s_.quotas[x].name, colours.of[x]);
    for (const std::string& name : past_.quotas()) {
      const auto at = colour_of.find(name);
      layer_of_.push_back(at == colour_of.end() ? others : std::min(at->second, others));
    }
  }
  /// By layer, the mean in thousandths.
  [[nodiscard]] std::vector<std::int64_t> used_in(const history::step& s) const {
    std::vector<std::int64_t> used(layers_.size());
    used.back() = s.outside;
    for (const auto& [quota, sum] : s.used) used[layer_of_.at(quota)] += sum;
    for (std::int64_t& u : used) u /= s.samples;
    return used;
  }
  [[nodiscard]] std::string unit() const {
    const std::vector<std::size_t> charted = charted_resources(s_);
    if (charted.empty()) return "GPUs";
    const std::string& name = s_.resources[charted.front()];
    return is_gpu(name) ? "GPUs" : html(name, 20);
  }
  [[nodiscard]] std::int64_t position(milliseconds at) const {
    return (at - begin_) * million / (end_ - begin_);
  }

  /// Calls `f` with the first and the one after the last of each sequence without a gap.
  template <class F>
  void for_each_run(F f) const {
    for (std::size_t from = 0; from < steps_.size();) {
      std::size_t to = from + 1;
      while (to < steps_.size() && steps_[to].begin == steps_[to - 1].begin + width_) ++to;
      f(from, to);
      from = to;
    }
  }
  template <class Value>
  [[nodiscard]] chart::steps curve(std::size_t from, std::size_t to, Value value) const {
    chart::steps c;
    for (std::size_t i = from; i < to; ++i) c.emplace_back(position(steps_[i].begin), value(i));
    c.emplace_back(position(steps_[to - 1].begin + width_), c.back().second);
    return c;
  }

  [[nodiscard]] chart over_time(std::string name, std::string title, std::string note) const {
    chart c{std::move(name), std::move(title), std::move(note), "history"};
    constexpr milliseconds minute = 60'000;
    constexpr std::array<milliseconds, 9> steps{minute,      2 * minute,   5 * minute,
                                                10 * minute, 15 * minute,  30 * minute,
                                                60 * minute, 120 * minute, 180 * minute};
    const auto few = std::find_if(steps.begin(), steps.end(),
                                  [this](milliseconds one) { return (end_ - begin_) / one <= 6; });
    const milliseconds step = few == steps.end() ? steps.back() : *few;
    // Full hours of the wall clock, also where it is not a full hour away from Greenwich.
    const milliseconds east = east_at(end_);
    allot::vector<allot::lab::report::tick> ticks;
    for (milliseconds at = (begin_ + east + step - 1) / step * step - east; at <= end_; at += step)
      ticks.push_back({position(at), clock_text(at, at).substr(0, 5)});
    c.set_ticks(std::move(ticks), {});
    return c;
  }

  void write_gpus() {
    std::vector<std::vector<std::int64_t>> used;
    std::int64_t most = 1000;
    bool has_capacity = false;
    for (const history::step& s : steps_) {
      used.push_back(used_in(s));
      const std::int64_t sum = std::accumulate(used.back().begin(), used.back().end(), std::int64_t{0});
      most = std::max({most, sum, s.capacity / s.samples});
      has_capacity = has_capacity || s.capacity > 0;
    }
    const std::string gpus = unit();
    chart c = over_time("gpus", gpus + " in use",
                        has_capacity ? "by the jobs of each quota; the line is what nodes that are up have"
                                     : "by the jobs of each quota");
    c.set_values(allot::lab::report::scale_for(most), gpus);
    c.make_tall();
    std::vector<std::size_t> shown;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      if (std::none_of(used.begin(), used.end(), [k](const auto& u) { return u[k] > 0; })) continue;
      shown.push_back(k);
      c.explain(layers_[k].css, shown_text(layers_[k].name));
    }
    for_each_run([&](std::size_t from, std::size_t to) {
      allot::vector<chart::steps> curves;
      allot::vector<std::string> css;
      for (const std::size_t k : shown) {
        curves.push_back(curve(from, to, [&](std::size_t i) { return used[i][k]; }));
        css.push_back(layers_[k].css);
      }
      allot::lab::report::stack(c, curves, css);
      if (has_capacity)
        c.line(curve(from, to, [&](std::size_t i) { return steps_[i].capacity / steps_[i].samples; }),
               "capacity");
    });
    write_figure(c, [&](std::size_t i) {
      const history::step& s = steps_[i];
      std::string text;
      for (const std::size_t k : shown) {
        if (used[i][k] != 0) text += "\n" + html(layers_[k].name) + ": " + amount(used[i][k]);
      }
      return text + "\nwaiting: " + amount(s.waiting * 1000 / s.samples) +
             (s.evictions > 0 ? "\nevicted: " + std::to_string(s.evictions) : "");
    });
  }

  template <class Value>
  void write_count(std::string name, std::string title, std::string note, Value value) {
    chart c = over_time(std::move(name), std::move(title), std::move(note));
    std::int64_t most = 1000;
    for (const history::step& s : steps_) most = std::max(most, value(s));
    c.set_values(allot::lab::report::scale_for(most, true), "jobs");
    for_each_run([&](std::size_t from, std::size_t to) {
      c.area(curve(from, to, [&](std::size_t i) { return value(steps_[i]); }), "area busy");
    });
    write_figure(c, [&](std::size_t i) { return "\n" + amount(value(steps_[i])); });
  }

  /// A mean, rounded to tenths.
  [[nodiscard]] static std::string amount(std::int64_t milli) {
    return to_string(allot::quantity::milli((milli + 50) / 100 * 100));
  }
  [[nodiscard]] static std::string percent(std::int64_t millionths) {
    return to_string(allot::quantity::milli(millionths / 10)) + '%';
  }

  template <class Figures>
  void write_figure(const chart& c, Figures figures) {
    html_ += "<figure><figcaption><h3>" + c.title() + "</h3><p class=note>" + c.note() +
             "</p></figcaption>\n<div class=over>";
    c.write_plot(html_);
    html_ += "<div class=hover>";
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const milliseconds at = steps_[i].begin;
      html_ += "<i style=\"left:" + percent(position(at)) +
               ";width:" + percent(position(at + width_) - position(at)) + "\" title=\"" +
               clock_text(at, s_.now) + figures(i) + "\"></i>";
    }
    html_ += "</div></div>";
    c.write_legend(html_);
    html_ += "</figure>\n";
  }

  const history& past_;
  const snapshot& s_;
  std::vector<layer> layers_{};
  /// By quota of the history.
  std::vector<std::size_t> layer_of_{};
  std::vector<history::step> steps_{};
  milliseconds width_ = 1;
  milliseconds begin_ = 0;
  milliseconds end_ = 0;
  std::string html_{};
};

}  // namespace

std::string history_charts(const history& past, const snapshot& s, const quota_colours& colours) {
  return charts_writer{past, s, colours}.write();
}

}  // namespace allot_governor
