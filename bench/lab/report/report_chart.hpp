// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

inline constexpr std::int64_t million = 1'000'000;

/// The ticks of an axis, `step` apart, and its end.
struct scale {
  std::int64_t top = 1;
  std::int64_t step = 1;

  friend bool operator==(const scale&, const scale&) = default;
};
/// From 0 to at least `most`, with two to five ticks at 1, 2 or 5 times a power of ten. The top need not be a
/// tick: an empty fifth would make the curves a fifth smaller. With `whole`, ticks of amounts in thousandths
/// are at whole units only.
[[nodiscard]] scale scale_for(std::int64_t most, bool whole = false);

/// An axis that need not begin at zero.
struct range {
  scale y;
  std::int64_t bottom = 0;

  friend bool operator==(const range&, const range&) = default;
};
/// From `least` to `most`: with zero, unless both are far from it in comparison with their distance.
[[nodiscard]] range range_for(std::int64_t least, std::int64_t most);

/// A label of an axis, at a position in millionths of its length.
struct tick {
  std::int64_t at = 0;
  std::string text;

  friend bool operator==(const tick&, const tick&) = default;
};
/// At full seconds, minutes, hours or days. The first tick names the unit: "day 2", "4", "6". At most nine.
[[nodiscard]] vector<tick> time_ticks(instant begin, instant end);

/// The position of a span of time, in millionths, on a logarithmic axis from one second to the first usual
/// tick that is not before `longest`. Shorter spans are at the beginning.
class log_time_axis {
 public:
  explicit log_time_axis(instant longest);
  /// For ratios in thousandths, from one to the first power of ten that is not below `largest`.
  [[nodiscard]] static log_time_axis of_ratios(std::int64_t largest);

  [[nodiscard]] std::int64_t position(instant span) const;
  [[nodiscard]] const vector<tick>& ticks() const noexcept { return ticks_; }
  /// The span at the end of the axis.
  [[nodiscard]] instant end() const noexcept { return end_; }

 private:
  using usual_ticks = std::span<const std::pair<instant, std::string_view>>;
  /// At least the first three ticks, and as many more as `longest` needs.
  log_time_axis(instant longest, usual_ticks usual);

  instant end_;
  vector<tick> ticks_;
};

/// What the axes of charts over time, and over spans of waiting, are called.
inline constexpr std::string_view time_axis_title = "simulated time";
inline constexpr std::string_view wait_axis_title = "wait from submission to the first start";

/// The colours of quotas and runs. Number k is the k-th colour of a palette that people with any colour
/// vision can tell apart; the last is grey, for everything else.
inline constexpr std::size_t most_colours = 8;

/// A chart: curves with axes and labels, mostly steps over time. It is drawn in two ways: stretched into the
/// page, with labels in HTML so that they stay readable on a small screen; and as an SVG of its own.
class chart {
 public:
  /// The points of a curve: (position in millionths of the axis, value); a value holds until the next point.
  using steps = vector<std::pair<std::int64_t, std::int64_t>>;

  struct legend_entry {
    /// The CSS class of its mark.
    std::string css;
    std::string text;
  };

  /// `name` is the file name; `kind` tells the script what to show under the pointer.
  chart(std::string name, std::string title, std::string note, std::string kind)
      : name_(std::move(name)), title_(std::move(title)), note_(std::move(note)), kind_(std::move(kind)) {}

  void set_values(scale y, std::string unit, std::int64_t bottom = 0);
  /// The labels of the horizontal axis, and what it is.
  void set_ticks(vector<tick> x, std::string title) {
    x_ = std::move(x);
    x_title_ = std::move(title);
  }
  /// Values below zero have their sign on the axis (without this, both directions count up).
  void show_signs() { has_signs_ = true; }
  void make_tall() { is_tall_ = true; }
  /// Filled between the curve and zero. Later shapes cover earlier ones.
  void area(steps curve, std::string css) { add(std::move(curve), std::move(css), form::area); }
  void line(steps curve, std::string css) { add(std::move(curve), std::move(css), form::line); }
  /// Straight from point to point, with a dot on each.
  void polyline(steps points, std::string css) { add(std::move(points), std::move(css), form::polyline); }
  /// Filled between these corners.
  void polygon(steps corners, std::string css) { add(std::move(corners), std::move(css), form::polygon); }
  /// A word on the chart itself, centred at this position.
  void label(std::int64_t at, std::int64_t value, std::string text, std::string css) {
    labels_.push_back({at, value, std::move(text), std::move(css)});
  }
  void explain(std::string css, std::string text) { legend_.push_back({std::move(css), std::move(text)}); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& title() const noexcept { return title_; }
  [[nodiscard]] const std::string& note() const noexcept { return note_; }
  [[nodiscard]] const vector<legend_entry>& legend() const noexcept { return legend_; }
  /// The end of the vertical axis.
  [[nodiscard]] std::int64_t top() const noexcept { return y_.top; }

  /// The plot with its axes, without title and legend.
  void write_plot(std::string& html) const;
  void write_legend(std::string& html) const;
  /// The complete chart, as a part of the page.
  void write_figure(std::string& html) const;

  /// The height of the chart as a file of its own, and the drawing with its top left corner at (x, y). The
  /// legend has as many rows as it needs.
  [[nodiscard]] std::int64_t drawn_height(std::int64_t width) const;
  void draw(std::string& svg, std::int64_t x, std::int64_t y, std::int64_t width) const;

 private:
  enum class form : std::uint8_t { line, area, polyline, polygon };
  struct shape {
    steps curve;
    std::string css;
    form is{};
  };
  struct word {
    std::int64_t at = 0;
    std::int64_t value = 0;
    std::string text;
    std::string css;
  };
  /// The position of a drawing, in hundredths of its unit.
  struct frame {
    std::int64_t left = 0;
    std::int64_t top = 0;
    std::int64_t width = 0;
    std::int64_t height = 0;
  };

  void add(steps curve, std::string css, form is) {
    shapes_.push_back({std::move(curve), std::move(css), is});
  }
  [[nodiscard]] std::int64_t x_in(const frame& f, std::int64_t at) const;
  [[nodiscard]] std::int64_t y_in(const frame& f, std::int64_t value) const;
  void write_path(std::string& svg, const shape& s, const frame& f) const;
  void write_straight(std::string& svg, const shape& s, const frame& f) const;
  static void write_mark(std::string& svg, const legend_entry& l, std::int64_t at, std::int64_t base);
  /// The legend as drawn: the entries with their texts, which fit into the width, row by row.
  [[nodiscard]] vector<vector<legend_entry>> legend_rows(std::int64_t width) const;
  [[nodiscard]] vector<tick> value_ticks() const;

  std::string name_;
  std::string title_;
  std::string note_;
  std::string kind_;
  std::string unit_{};
  scale y_{};
  std::int64_t bottom_ = 0;
  vector<tick> x_{};
  std::string x_title_{};
  vector<shape> shapes_{};
  vector<word> labels_{};
  vector<legend_entry> legend_{};
  bool is_tall_ = false;
  bool has_signs_ = false;
};

/// The charts, one below the other, as a self-contained SVG.
[[nodiscard]] std::string standalone_svg(std::span<const chart> charts, std::string_view title);

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
