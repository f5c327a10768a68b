// SPDX-License-Identifier: BSL-1.0
#include "lab/report/report_chart.hpp"

#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/text_table.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace allot {
inline namespace v0 {
namespace lab {

// The file of that name, without its last newline: .cmake/embed.cmake makes a string of it.
namespace embedded {
extern const std::string_view chart_css;
}  // namespace embedded

namespace report {

namespace {

[[nodiscard]] std::int64_t scaled(std::int64_t part, std::int64_t whole, std::int64_t length) {
  if (whole <= 0) return 0;
  const bool is_negative = part < 0;
  const auto n = static_cast<std::uint64_t>(is_negative ? -part : part);
  const auto d = static_cast<std::uint64_t>(whole);
  const auto result = static_cast<std::int64_t>((wide{n} * static_cast<std::uint64_t>(length) + d / 2) / d);
  return is_negative ? -result : result;
}

/// Hundredths as a number: "12.5".
void append_hundredths(std::string& text, std::int64_t n) {
  text += decimal(n * 10);
}
/// Millionths as a percentage for CSS, with two decimals.
std::string css_percent(std::int64_t millionths) {
  return decimal((millionths + 50) / 100 * 10) + '%';
}

void append_point(std::string& svg, std::int64_t x, std::int64_t y) {
  append_hundredths(svg, x);
  svg += ' ';
  append_hundredths(svg, y);
}

/// The approximate width of text in the usual font of 12 units; no browser is involved.
[[nodiscard]] std::int64_t width_of(std::string_view text) {
  return static_cast<std::int64_t>(characters_in(text)) * 7;
}
/// A text of at most that width, or its beginning.
[[nodiscard]] std::string fitted(std::string_view text, std::int64_t width) {
  if (width_of(text) <= width) return std::string{text};
  std::string shown;
  for (const char c : text) {
    const bool begins_character = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins_character && width_of(shown) + 14 > width) break;
    shown += c;
  }
  return shown + "…";
}

/// The height of a chart with one row of legend; what each further row takes, and the title of the axis.
constexpr std::int64_t tall_height = 310;
constexpr std::int64_t low_height = 200;
constexpr std::int64_t row_height = 18;
constexpr std::int64_t title_height = 16;

}  // namespace

scale scale_for(std::int64_t most, bool whole) {
  scale s;
  constexpr std::array<std::int64_t, 3> factors = {1, 2, 5};
  const std::int64_t least = whole ? 1000 : 1;
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t factor : factors) {
      s.step = factor * power;
      if (s.step < least || (s.step <= most / 5 && s.step * 5 < most)) continue;
      const std::int64_t part = std::max<std::int64_t>(1, s.step / 5);
      const std::int64_t over = most % part;
      s.top = std::max(s.step, over == 0 ? most : most + (part - over));
      return s;
    }
  }
}

range range_for(std::int64_t least, std::int64_t most) {
  const auto down = [](std::int64_t n, std::int64_t step) {
    return n >= 0 ? n / step * step : -((-n + step - 1) / step * step);
  };
  if (least >= 0 && (least < most - most / 4 || most <= least))
    return {scale_for(std::max<std::int64_t>(1, most)), 0};
  range r;
  // The ends are ticks: a value that is not zero has to be read off somewhere.
  r.y.step = scale_for(std::max<std::int64_t>(1, most - least)).step;
  r.bottom = down(least, r.y.step);
  r.y.top = std::max(-down(-most, r.y.step), r.bottom + r.y.step);
  return r;
}

vector<tick> time_ticks(instant begin, instant end) {
  constexpr std::array<instant, 25> steps = {second,   2 * second, 5 * second, 15 * second, 30 * second,
                                             minute,   2 * minute, 5 * minute, 15 * minute, 30 * minute,
                                             hour,     2 * hour,   3 * hour,   6 * hour,    12 * hour,
                                             day,      2 * day,    3 * day,    5 * day,     7 * day,
                                             10 * day, 14 * day,   20 * day,   30 * day,    60 * day};
  vector<tick> ticks;
  if (end <= begin) return ticks;
  std::size_t i = 0;
  while (i + 1 < steps.size() && (end - begin) / steps[i] > 8) ++i;
  instant step = steps[i];
  while ((end - begin) / step > 8) step *= 2;
  const auto [unit, name] = step >= day      ? std::pair{day, "day "}
                            : step >= hour   ? std::pair{hour, "hour "}
                            : step >= minute ? std::pair{minute, "minute "}
                                             : std::pair{second, "second "};
  for (instant at = (begin + step - 1) / step * step; at <= end; at += step) {
    std::string text = ticks.empty() ? name : "";
    text += rounded(at / unit * 1000, 0);
    ticks.push_back({scaled(at - begin, end - begin, million), std::move(text)});
  }
  return ticks;
}

namespace {

constexpr std::array<std::pair<instant, std::string_view>, 11> usual_spans = {{{second, "1 s"},
                                                                               {10 * second, "10 s"},
                                                                               {minute, "1 min"},
                                                                               {10 * minute, "10 min"},
                                                                               {hour, "1 h"},
                                                                               {6 * hour, "6 h"},
                                                                               {day, "1 d"},
                                                                               {7 * day, "7 d"},
                                                                               {30 * day, "30 d"},
                                                                               {180 * day, "180 d"},
                                                                               {3650 * day, "10 y"}}};
constexpr std::array<std::pair<instant, std::string_view>, 8> usual_ratios = {{{1'000, "1"},
                                                                               {2'000, "2"},
                                                                               {10'000, "10"},
                                                                               {100'000, "100"},
                                                                               {1'000'000, "1,000"},
                                                                               {10'000'000, "10,000"},
                                                                               {100'000'000, "100,000"},
                                                                               {1'000'000'000, "1,000,000"}}};

}  // namespace

log_time_axis::log_time_axis(instant longest) : log_time_axis(longest, usual_spans) {}

log_time_axis log_time_axis::of_ratios(std::int64_t largest) {
  static_assert(second == 1'000);
  return {largest, usual_ratios};
}

log_time_axis::log_time_axis(instant longest, usual_ticks usual) : end_(second) {
  std::size_t last = 2;
  while (last + 1 < usual.size() && usual[last].first < longest) ++last;
  end_ = usual[last].first;
  for (std::size_t i = 0; i <= last; ++i) {
    ticks_.push_back({position(usual[i].first), std::string{usual[i].second}});
  }
}

std::int64_t log_time_axis::position(instant span) const {
  if (span <= second) return 0;
  // Sixteen linear steps from one power of two to the next, instead of a library's logarithm, which may round
  // differently on other machines.
  const auto log = [](instant t) {
    const auto n = static_cast<std::uint64_t>(t);
    const auto bits = static_cast<std::int64_t>(std::bit_width(n)) - 1;
    const std::uint64_t base = std::uint64_t{1} << static_cast<unsigned>(bits);
    // log2(1 + f) is f plus a bulge of at most 0.086, which 0.344 f (1 - f) approximates closely.
    const auto f = static_cast<std::int64_t>(wide{n - base} * million / base);
    const auto bulge = static_cast<std::int64_t>(
        wide{static_cast<std::uint64_t>(f)} * static_cast<std::uint64_t>(million - f) / million * 344 / 1000);
    return bits * million + f + bulge;
  };
  const std::int64_t from = log(second);
  return std::min(million, scaled(log(span) - from, log(end_) - from, million));
}

void chart::set_values(scale y, std::string unit, std::int64_t bottom) {
  y_ = y;
  unit_ = std::move(unit);
  bottom_ = bottom;
}

std::int64_t chart::x_in(const frame& f, std::int64_t at) const {
  return f.left + scaled(at, million, f.width);
}
std::int64_t chart::y_in(const frame& f, std::int64_t value) const {
  return f.top + f.height - scaled(std::clamp(value, bottom_, y_.top) - bottom_, y_.top - bottom_, f.height);
}

vector<tick> chart::value_ticks() const {
  vector<tick> ticks;
  const auto add = [&](std::int64_t v) {
    std::string text = rounded(v < 0 ? -v : v, v % 1000 == 0 ? 0 : v % 100 == 0 ? 1 : v % 10 == 0 ? 2 : 3);
    if (v < 0 && has_signs_) text.insert(0, "−");
    ticks.push_back({scaled(v - bottom_, y_.top - bottom_, million), std::move(text)});
  };
  const std::int64_t below = bottom_ < 0 ? -bottom_ / y_.step : 0;
  const std::int64_t above = bottom_ > 0 ? (bottom_ + y_.step - 1) / y_.step : 0;
  for (std::int64_t v = (above - below) * y_.step; v <= y_.top; v += y_.step) add(v);
  return ticks;
}

void chart::write_straight(std::string& svg, const shape& s, const frame& f) const {
  svg.append("<path class=\"").append(s.css).append("\" d=\"");
  for (std::size_t i = 0; i < s.curve.size(); ++i) {
    svg += i == 0 ? 'M' : 'L';
    append_point(svg, x_in(f, s.curve[i].first), y_in(f, s.curve[i].second));
  }
  svg += s.is == form::polygon ? "Z\"/>" : "\"/>";
  if (s.is == form::polygon) return;
  // Lines without a length, with round ends: circles would be stretched with the page.
  svg.append("<path class=\"dots ").append(s.css).append("\" d=\"");
  for (const auto& [at, value] : s.curve) {
    svg += 'M';
    append_point(svg, x_in(f, at), y_in(f, value));
    svg += "h0";
  }
  svg += "\"/>";
}

void chart::write_path(std::string& svg, const shape& s, const frame& f) const {
  if (s.curve.empty()) return;
  if (s.is == form::polyline || s.is == form::polygon) return write_straight(svg, s, f);
  const bool is_filled = s.is == form::area;
  svg.append("<path class=\"").append(s.css).append("\" d=\"M");
  std::int64_t x = x_in(f, s.curve.front().first);
  std::int64_t y = is_filled ? y_in(f, 0) : y_in(f, s.curve.front().second);
  append_point(svg, x, y);
  for (std::size_t i = 0; i < s.curve.size(); ++i) {
    const std::int64_t to = y_in(f, s.curve[i].second);
    if (to != y) {
      svg += 'V';
      append_hundredths(svg, to);
      y = to;
    }
    const std::int64_t end = i + 1 < s.curve.size() ? s.curve[i + 1].first : s.curve[i].first;
    // There are points only where the curve changes.
    if (i + 1 < s.curve.size() && i + 2 < s.curve.size() && y_in(f, s.curve[i + 1].second) == to) continue;
    if (x_in(f, end) == x) continue;
    x = x_in(f, end);
    svg += 'H';
    append_hundredths(svg, x);
  }
  if (is_filled) {
    svg += 'V';
    append_hundredths(svg, y_in(f, 0));
    svg += 'Z';
  }
  svg += "\"/>";
}

void chart::write_plot(std::string& html) const {
  const vector<tick> y = value_ticks();
  html.append("<div class=\"chart")
      .append(is_tall_ ? " tall" : "")
      .append(x_title_.empty() ? "" : " titled")
      .append("\"><div class=y aria-hidden=true>");
  for (const tick& t : y) {
    html.append("<i style=\"bottom:").append(css_percent(t.at)).append("\">").append(t.text).append("</i>");
  }
  html.append("<em>").append(unit_).append("</em></div><div class=plot data-kind=\"").append(escaped(kind_));
  html.append("\" data-bottom=").append(decimal(bottom_)).append(" data-top=").append(decimal(y_.top));
  html.append("><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=none role=img aria-label=\"");
  html.append(escaped(title_)).append(": ").append(escaped(note_)).append("\">");
  const frame f{0, 0, 100'000, 100'000};
  for (const tick& t : y) {
    html.append("<path class=grid d=\"M0 ");
    append_hundredths(html, f.height - scaled(t.at, million, f.height));
    html += "H1000\"/>";
  }
  for (const shape& s : shapes_) write_path(html, s, f);
  if (bottom_ < 0) {
    html += "<path class=axis d=\"M0 ";
    append_hundredths(html, y_in(f, 0));
    html += "H1000\"/>";
  }
  html += "</svg>";
  for (const word& w : labels_) {
    html.append("<i class=\"word ").append(w.css).append("\" style=\"left:").append(css_percent(w.at));
    html.append(";top:").append(css_percent(scaled(y_in(f, w.value), f.height, million))).append("\">");
    html.append(escaped(w.text)).append("</i>");
  }
  html += "<b class=cursor></b><b class=mark></b></div><div class=x aria-hidden=true>";
  for (const tick& t : x_) {
    // A label at the end would extend over the edge of a small screen.
    html.append(t.at > 970'000 ? "<i class=end>" : "<i style=\"left:" + css_percent(t.at) + "\">");
    html.append(t.text).append("</i>");
  }
  if (!x_title_.empty()) html.append("<em>").append(escaped(x_title_)).append("</em>");
  html += "</div></div>\n";
}

void chart::write_legend(std::string& html) const {
  if (legend_.empty()) return;
  html += "<p class=legend>";
  for (const legend_entry& l : legend_) {
    html.append("<span><b class=\"")
        .append(l.css)
        .append("\"></b>")
        .append(escaped(l.text))
        .append("</span>");
  }
  html += "</p>";
}

void chart::write_figure(std::string& html) const {
  html.append("<figure><figcaption><h2>").append(escaped(title_)).append("</h2><p>").append(escaped(note_));
  html += "</p></figcaption>\n";
  write_plot(html);
  write_legend(html);
  html += "</figure>\n";
}

vector<vector<chart::legend_entry>> chart::legend_rows(std::int64_t width) const {
  vector<vector<legend_entry>> rows;
  const std::int64_t room = width - 32;
  std::int64_t used = room;
  for (const legend_entry& l : legend_) {
    legend_entry shown{l.css, fitted(l.text, room - 26)};
    const std::int64_t needs = 26 + width_of(shown.text);
    if (rows.empty() || used + needs > room) {
      rows.emplace_back();
      used = 0;
    }
    rows.back().push_back(std::move(shown));
    used += needs;
  }
  return rows;
}

std::int64_t chart::drawn_height(std::int64_t width) const {
  const auto rows = static_cast<std::int64_t>(legend_rows(width).size());
  return (is_tall_ ? tall_height : low_height) + (x_title_.empty() ? 0 : title_height) +
         std::max<std::int64_t>(0, rows - 1) * row_height;
}

void chart::draw(std::string& svg, std::int64_t x, std::int64_t y, std::int64_t width) const {
  const vector<vector<legend_entry>> rows = legend_rows(width);
  const std::int64_t height = is_tall_ ? tall_height : low_height;
  const frame f{(x + 52) * 100, (y + 40) * 100, (width - 66) * 100,
                (height - 64 - (rows.empty() ? 0 : 22)) * 100};
  const auto text = [&](std::int64_t at_x, std::int64_t at_y, std::string_view css, std::string_view what) {
    svg.append("<text class=\"").append(css).append("\" x=\"");
    append_hundredths(svg, at_x);
    svg += "\" y=\"";
    append_hundredths(svg, at_y);
    svg.append("\">").append(escaped(what)).append("</text>\n");
  };
  text(x * 100, (y + 14) * 100, "title", title_);
  text((x + 46) * 100, (y + 31) * 100, "tick right", unit_);
  for (const tick& t : value_ticks()) {
    const std::int64_t at = f.top + f.height - scaled(t.at, million, f.height);
    svg += "<path class=\"grid\" d=\"M";
    append_hundredths(svg, f.left);
    svg += ' ';
    append_hundredths(svg, at);
    svg += 'H';
    append_hundredths(svg, f.left + f.width);
    svg += "\"/>\n";
    text(f.left - 600, at + 400, "tick right", t.text);
  }
  for (const shape& s : shapes_) {
    write_path(svg, s, f);
    svg += '\n';
  }
  svg += "<path class=\"axis\" d=\"M";
  append_hundredths(svg, f.left);
  svg += ' ';
  append_hundredths(svg, y_in(f, 0));
  svg += 'H';
  append_hundredths(svg, f.left + f.width);
  svg += "\"/>\n";
  for (const tick& t : x_) {
    // The last label must not extend over the edge, nor the first over the other axis.
    const std::int64_t half = width_of(t.text) * 50;
    const std::int64_t at = std::clamp(x_in(f, t.at), f.left, f.left + f.width + 1400 - half);
    text(at, f.top + f.height + 1500, "tick middle", t.text);
  }
  for (const word& w : labels_) {
    text(x_in(f, w.at), y_in(f, w.value) + 400, "word middle " + w.css, w.text);
  }
  if (!x_title_.empty()) {
    text(f.left + f.width / 2, f.top + f.height + 3100, "tick middle", x_title_);
  }
  std::int64_t base = y + height + (x_title_.empty() ? 0 : title_height) - 10;
  for (const vector<legend_entry>& row : rows) {
    std::int64_t at = x + 52;
    for (const legend_entry& l : row) {
      write_mark(svg, l, at, base);
      text((at + 15) * 100, base * 100, "tick", l.text);
      at += 26 + width_of(l.text);
    }
    base += row_height;
  }
}

void chart::write_mark(std::string& svg, const legend_entry& l, std::int64_t at, std::int64_t base) {
  if (const std::string_view css = l.css; css.substr(0, 5) == "rule ") {
    svg.append("<path class=\"").append(css.substr(5)).append("\" d=\"M").append(std::to_string(at - 4));
    svg.append(" ").append(std::to_string(base - 4)).append("h16\"/>");
  } else {
    svg.append("<rect class=\"").append(css).append("\" x=\"").append(std::to_string(at)).append("\" y=\"");
    svg.append(std::to_string(base - 9)).append("\" width=\"10\" height=\"10\"/>");
  }
}

std::string standalone_svg(std::span<const chart> charts, std::string_view title) {
  constexpr std::int64_t width = 720;
  std::int64_t height = 16;
  for (const chart& c : charts) height += c.drawn_height(width) + 12;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width + 24) +
                    "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " +
                    std::to_string(width + 24) + ' ' + std::to_string(height) + "\" role=\"img\">\n<title>" +
                    escaped(title) + "</title>\n<style>\n" + std::string{embedded::chart_css} +
                    "\n</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  std::int64_t y = 12;
  for (const chart& c : charts) {
    c.draw(svg, 12, y, width);
    y += c.drawn_height(width) + 12;
  }
  return svg += "</svg>\n";
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
