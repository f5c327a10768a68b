// SPDX-License-Identifier: BSL-1.0
// The curves of the report. A chart is an SVG that is stretched to the width of the page, with its labels in
// HTML beside it, so that they stay readable on a small screen.
#include "lab/outputs.hpp"
#include "lab/report.hpp"

#include <allot/sim/trace.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

/// The height of a chart in its own units; a curve is that exact.
constexpr std::int64_t height = 1000;

void append(std::string& html, std::int64_t n) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, n);
  static_cast<void>(error);
  html.append(digits, end);
}

/// `part` of `whole` in percent with two decimals: a position in CSS.
std::string position(std::int64_t part, std::int64_t whole) {
  return decimal((whole == 0 ? 0
                             : static_cast<std::int64_t>(wide{static_cast<std::uint64_t>(part)} * 10'000 /
                                                         static_cast<std::uint64_t>(whole))) *
                 10) +
         '%';
}

/// The top of a scale, and the distance between its lines: 1, 2 or 5 times a power of ten.
struct scale {
  std::int64_t top = 1;
  std::int64_t step = 1;
};

scale scale_for(std::int64_t most) {
  scale s;
  constexpr std::array<std::int64_t, 3> factors = {1, 2, 5};
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t factor : factors) {
      s.step = factor * power;
      if (s.step * 5 < most) continue;
      // Whole steps would leave up to a fifth of the chart empty.
      const std::int64_t part = std::max<std::int64_t>(1, s.step / 5);
      s.top = std::max(s.step, (most + part - 1) / part * part);
      return s;
    }
  }
}

class chart {
 public:
  chart(std::string& html, const replayed_time& time, scale y, std::string_view unit,
        std::string_view css_class)
      : html_(html), time_(time), y_(y) {
    html_.append("<div class=\"chart ").append(css_class).append("\"><div class=y>");
    for (std::int64_t v = 0; v <= y_.top; v += y_.step) {
      html_.append("<i style=\"bottom:").append(position(v, y_.top)).append("\">");
      html_.append(rounded(v, v % 1000 == 0 ? 0 : 1));
      if (v == 0) html_.append(" ").append(unit);
      html_.append("</i>");
    }
    html_.append("</div><div class=plot><svg viewBox=\"0 0 ").append(decimal(columns()));
    html_.append(" 1000\" preserveAspectRatio=none>");
    for (std::int64_t v = y_.step; v <= y_.top; v += y_.step) {
      html_.append("<path class=grid d=\"M0 ");
      append(html_, at(v));
      html_.append("H").append(decimal(columns())).append("\"/>");
    }
  }

  /// A filled curve from the bottom up.
  void area(const std::vector<std::int64_t>& values, std::string_view style) {
    html_.append("<path ").append(style).append(" d=\"M0 1000");
    follow(values);
    html_.append("V1000Z\"/>");
  }
  void line(const std::vector<std::int64_t>& values, std::string_view style) {
    if (values.empty()) return;
    html_.append("<path ").append(style).append(" d=\"M0 ");
    append(html_, at(values.front()));
    follow(values);
    html_.append("\"/>");
  }
  /// A line of (time, value), which holds until the next; where there is no value there is no line.
  void steps(const std::vector<std::pair<instant, std::optional<std::int64_t>>>& values,
             std::string_view style) {
    html_.append("<path ").append(style).append(" d=\"");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const instant from = i == 0 ? time_.begin : std::clamp(values[i].first, time_.begin, time_.end);
      const instant to =
          i + 1 < values.size() ? std::clamp(values[i + 1].first, time_.begin, time_.end) : time_.end;
      if (!values[i].second || from >= to) continue;
      html_.append("M").append(decimal(column(from))).append(" ");
      append(html_, at(*values[i].second));
      html_.append("H").append(decimal(column(to)));
    }
    html_.append("\"/>");
  }

  void close() {
    html_.append("</svg><b class=cursor></b></div><div class=x>");
    const ticks marks = time_steps();
    // None at the left end, where the labels of the other axis are.
    const std::int64_t first = time_.begin / marks.step + 1;
    for (std::int64_t k = first; k * marks.step <= time_.end; ++k) {
      const instant at = k * marks.step;
      html_.append("<i style=\"left:")
          .append(position(at - time_.begin, time_.end - time_.begin))
          .append("\">");
      if (k == first) html_.append(marks.name);
      html_.append(rounded(at * 1000 / marks.unit, 0)).append("</i>");
    }
    html_.append("</div></div>\n");
  }

 private:
  struct ticks {
    std::int64_t step;
    std::string_view name;
    std::int64_t unit;
  };

  /// About six marks.
  [[nodiscard]] ticks time_steps() const {
    using sim::day;
    using sim::hour;
    using sim::minute;
    using sim::second;
    constexpr std::array<std::int64_t, 16> steps = {
        second,   5 * second, 15 * second, minute,  5 * minute, 15 * minute, hour,     3 * hour,
        6 * hour, day,        2 * day,     7 * day, 14 * day,   30 * day,    90 * day, 365 * day};
    std::size_t i = 0;
    while (i + 1 < steps.size() && (time_.end - time_.begin) / steps[i] > 9) ++i;
    std::int64_t step = steps[i];
    while ((time_.end - time_.begin) / step > 9) step *= 10;
    if (step >= day) return {step, "day ", day};
    if (step >= hour) return {step, "hour ", hour};
    return step >= minute ? ticks{step, "min ", minute} : ticks{step, "s ", second};
  }

  /// In thousandths of a span.
  [[nodiscard]] std::int64_t columns() const { return std::max<std::int64_t>(1, column(time_.end)); }
  [[nodiscard]] std::int64_t column(instant t) const {
    return static_cast<std::int64_t>(wide{static_cast<std::uint64_t>(t - time_.begin)} * 1000 /
                                     static_cast<std::uint64_t>(time_.width));
  }
  [[nodiscard]] std::int64_t at(std::int64_t value) const {
    const std::int64_t up = static_cast<std::int64_t>(wide{static_cast<std::uint64_t>(value)} * height /
                                                      static_cast<std::uint64_t>(y_.top));
    return height - std::min(up, height);
  }
  void follow(const std::vector<std::int64_t>& values) {
    std::int64_t last = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t y = at(values[i]);
      if (y != last) {
        html_ += 'V';
        append(html_, y);
      }
      last = y;
      // Only where the curve turns there is a point.
      if (i + 1 < values.size() && at(values[i + 1]) == y) continue;
      html_ += 'H';
      if (i + 1 < values.size()) {
        append(html_, static_cast<std::int64_t>(i) + 1);
      } else {
        html_ += decimal(columns());
      }
    }
  }

  std::string& html_;
  const replayed_time& time_;
  scale y_;
};

[[nodiscard]] std::int64_t most_of(const std::vector<std::int64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

void add_to(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < sum.size() && i < values.size(); ++i) sum[i] += values[i];
}

void open_figure(std::string& html, std::string_view title, std::string_view text) {
  html.append("<figure><figcaption><h2>")
      .append(title)
      .append("</h2><p>")
      .append(text)
      .append("</p></figcaption>\n");
}

void write_numbers(std::string& html, const std::vector<std::int64_t>& milli) {
  html += '[';
  for (std::size_t i = 0; i < milli.size(); ++i) {
    if (i != 0) html += ',';
    html += decimal((milli[i] + 50) / 100 * 100);
  }
  html += ']';
}

/// What the script shows under the pointer.
void write_data(std::string& html, const replay_result& r, const std::vector<layer>& layers,
                const std::vector<std::vector<std::int64_t>>& used) {
  const replayed_time& t = r.time;
  html.append("<script type=\"application/json\" id=data>{\"begin\":").append(decimal(t.begin));
  html.append(",\"width\":").append(decimal(t.width)).append(",\"span\":").append(decimal(t.end - t.begin));
  html.append(",\"names\":[");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    html.append(i == 0 ? "\"" : ",\"");
    for (const char c : layers[i].name) {
      // Neither the end of the string nor of the script element; the page shows it as text.
      if (c == '"' || c == '\\' || c == '<' || static_cast<unsigned char>(c) < 0x20) {
        constexpr std::string_view digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        html.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xFU]);
      } else {
        html += c;
      }
    }
    html += '"';
  }
  html += "],\"colours\":[";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i != 0) html += ',';
    append(html, static_cast<std::int64_t>(layers[i].colour));
  }
  html += "],\"used\":[";
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (i != 0) html += ',';
    write_numbers(html, used[i]);
  }
  html += "],\"pending\":";
  std::vector<std::int64_t> pending = t.pending.means;
  for (std::int64_t& n : pending) n *= 1000;
  write_numbers(html, pending);
  html += ",\"capacity\":";
  write_numbers(html, t.capacity.means);
  html += "}</script>\n";
}

}  // namespace

void write_time_charts(std::string& html, const replay_result& r, const std::vector<layer>& layers) {
  const replayed_time& t = r.time;
  if (t.end <= t.begin) return;
  const std::size_t n = t.used.means.size();
  std::vector<std::vector<std::int64_t>> used;
  for (const layer& l : layers) {
    used.emplace_back(n, 0);
    for (const std::size_t x : l.quotas) add_to(used.back(), t.used_of[x].means);
  }

  open_figure(html, "GPUs in use", "by the jobs of each quota; the line is what there is");
  chart stacked{html, t, scale_for(std::max(most_of(t.used.means), most_of(t.capacity.means))), "GPUs",
                "tall"};
  // The sum of all is drawn first and the first layer last, so that each covers what is not its own.
  std::vector<std::int64_t> below = std::vector<std::int64_t>(n, 0);
  for (const auto& u : used) add_to(below, u);
  for (std::size_t i = layers.size(); i-- > 0;) {
    stacked.area(below, "class=\"area q" + std::to_string(layers[i].colour) + '"');
    for (std::size_t k = 0; k < n; ++k) below[k] -= used[i][k];
  }
  stacked.line(t.capacity.means, "class=capacity");
  stacked.close();
  html += "<p class=legend>";
  for (const layer& l : layers) {
    html.append("<span><b class=q").append(std::to_string(l.colour)).append("></b>").append(escaped(l.name));
    html.append("</span>");
  }
  html += "</p></figure>\n";

  open_figure(html, "Waiting jobs", "how many are submitted and do not run");
  std::vector<std::int64_t> pending = t.pending.means;
  for (std::int64_t& p : pending) p *= 1000;
  chart waiting{html, t, scale_for(std::max<std::int64_t>(1000, most_of(pending))), "jobs", "low"};
  waiting.area(pending, "class=\"area waiting\"");
  waiting.close();
  html += "</figure>\n";

  if (r.figures.capacity_is_bounded) {
    open_figure(html, "Utilisation", "GPUs in use, in percent of what there is");
    std::vector<std::int64_t> rate(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t capacity = t.capacity.means[i];
      rate[i] = capacity == 0 ? 0 : t.used.means[i] * 100'000 / capacity;
    }
    chart utilisation{html, t, {100'000, 25'000}, "%", "low"};
    utilisation.area(rate, "class=\"area utilisation\"");
    utilisation.close();
    html += "</figure>\n";
  }
  write_data(html, r, layers, used);
}

void write_quota_charts(std::string& html, const replay_result& r, const std::vector<layer>& layers) {
  const replayed_time& t = r.time;
  if (t.end <= t.begin) return;
  open_figure(html, "Each quota",
              "area: GPUs in use; line: what the fair share gives its jobs, given what everybody wants; "
              "dashes: its own");
  html += "<div class=grid-of-charts>\n";
  for (const layer& l : layers) {
    if (l.quotas.size() != 1) continue;
    const std::size_t x = l.quotas.front();
    std::int64_t most =
        std::max<std::int64_t>({1000, most_of(t.used_of[x].means), most_of(t.entitled_of[x].means)});
    for (const auto& [at, nominal] : r.quotas[x].nominal) most = std::max(most, nominal.value_or(0));
    html.append("<div><h3>").append(escaped(l.name)).append("</h3>");
    chart c{html, t, scale_for(most), "GPUs", "low"};
    c.area(t.used_of[x].means, "class=\"area q" + std::to_string(l.colour) + '"');
    c.line(t.entitled_of[x].means, "class=entitled");
    c.steps(r.quotas[x].nominal, "class=nominal");
    c.close();
    html += "</div>\n";
  }
  html += "</div></figure>\n";
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
