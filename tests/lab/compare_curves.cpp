// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare_curves.hpp"

#include "lab/io/errors.hpp"
#include "lab/report/run_summary.hpp"
#include "lab/sweep/compare_sides_page.hpp"

#include <allot/core/vector.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab = allot::lab;

namespace {

struct seeded_wait {
  std::uint64_t seed = 0;
  std::string wait;
};

/// A configuration of a sweep with these mean waits.
lab::run_group group(const std::string& scenario, const std::string& policy, const std::string& load,
                     const std::vector<seeded_wait>& waits) {
  lab::run_group g{policy + '@' + load, {}};
  g.scenario = scenario;
  g.load = load;
  g.side = policy;
  for (const seeded_wait& w : waits) {
    lab::errors found;
    auto run = lab::parse_summary(policy, "s.json",
                                  R"({"format": "allot-summary/1", "seed": )" + std::to_string(w.seed) +
                                      R"(, "queue_s": {"mean": )" + w.wait + "}}",
                                  found);
    REQUIRE_MESSAGE(run, found.to_string());
    g.runs.push_back(std::move(*run));
  }
  return g;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const std::vector<std::string> wait = {"queue_s/mean"};

std::string drawing_of(const lab::load_curves& c) {
  const lab::report::chart drawn = lab::chart_of(c);
  return lab::report::standalone_svg(std::span{&drawn, 1}, drawn.title());
}

lab::run_group in_set(std::string set, std::string side, std::string label) {
  lab::run_group g{std::move(label), {}};
  g.set = std::move(set);
  g.side = std::move(side);
  return g;
}

}  // namespace

TEST_CASE("compare_curves: means and deviations of every policy, by load") {
  const std::vector<lab::run_group> groups = {group("mix", "fifo", "1.1", {{1, "300"}, {2, "500"}}),
                                              group("mix", "fifo", "0.7", {{1, "100"}, {2, "120"}}),
                                              group("mix", "pai", "0.7", {{1, "60"}}),
                                              group("mix", "pai", "1.1", {{1, "90"}}),
                                              group("trace", "fifo", "x2", {{1, "1"}}),
                                              group("trace", "fifo", "x2.5", {{1, "2"}})};
  const auto all = lab::curves_over_load(groups, wait);
  REQUIRE(all.size() == 2);
  CHECK(all[0].scenario == "mix");
  CHECK_FALSE(all[0].is_of_arrivals);
  CHECK(all[0].loads == std::vector<std::int64_t>{700, 1100});
  REQUIRE(all[0].curves.size() == 2);
  CHECK(all[0].curves[0].side == "fifo");
  REQUIRE(all[0].curves[0].points.size() == 2);
  CHECK(all[0].curves[0].points[0].load == 700);
  CHECK(all[0].curves[0].points[0].value.mean == 110);
  CHECK(all[0].curves[0].points[1].value.mean == 400);
  CHECK(all[0].curves[0].points[1].value.deviation == doctest::Approx(141.42).epsilon(0.001));
  CHECK_FALSE(all[0].curves[1].points[0].value.deviation);
  CHECK(all[1].is_of_arrivals);
  CHECK(lab::curve_tables(all, "csv") ==
        "figure,scenario,policy,load,runs,mean,sd,p10,p90\n"
        "queue_s/mean,mix,fifo,0.7,2,110,14.142136,102,118\n"
        "queue_s/mean,mix,fifo,1.1,2,400,141.421356,320,480\n"
        "queue_s/mean,mix,pai,0.7,1,60,,60,60\n"
        "queue_s/mean,mix,pai,1.1,1,90,,90,90\n"
        "queue_s/mean,trace,fifo,x2,1,1,,1,1\n"
        "queue_s/mean,trace,fifo,x2.5,1,2,,2,2\n");
  const std::string text = lab::curve_tables(all, "text");
  CHECK(has(text,
            "mix over load: Wait before the first start, mean (mean ± standard deviation over the seeds)\n"));
  CHECK(has(text, "  fifo  110 s ± 14 s  7 min ± 2 min\n"));
  CHECK(
      has(text,
          "trace over arrivals: Wait before the first start, mean (one run each)\n  arrivals   x2  x2.5\n"));
  CHECK(has(lab::curve_tables(all, "markdown"), "| load | 0.7 | 1.1 |\n|---|---:|---:|\n| fifo |"));
}

TEST_CASE("compare_curves: one load, and runs without a load, have no curve") {
  CHECK(lab::curves_over_load({}, wait).empty());
  CHECK(lab::curves_over_load({group("mix", "fifo", "0.7", {{1, "1"}})}, wait).empty());
  CHECK(lab::curves_over_load({group("mix", "fifo", "", {{1, "1"}}), group("mix", "fifo", "0.7", {{1, "1"}})},
                              wait)
            .empty());
  // Loads and arrivals are different axes.
  CHECK(lab::curves_over_load(
            {group("mix", "fifo", "x2", {{1, "1"}}), group("mix", "fifo", "0.7", {{1, "1"}})}, wait)
            .empty());
  // What another wrote into the files of a sweep.
  for (const char* load : {"x", "soon", "-1", "0", "1e9", "99999999999999999999"}) {
    CHECK(lab::curves_over_load({group("m", "f", load, {{1, "1"}}), group("m", "f", "1", {{1, "1"}})}, wait)
              .empty());
  }
  // Without a choice it is the main figures, as far as there are values.
  const auto all = lab::curves_over_load(
      {group("mix", "fifo", "0.7", {{1, "1"}}), group("mix", "fifo", "0.9", {{1, "1"}})}, {});
  REQUIRE(all.size() == 1);
  CHECK(all[0].figure == "queue_s/mean");
}

TEST_CASE("compare_curves: a drawing has a line and a band for each policy, axes with titles and units") {
  const auto all = lab::curves_over_load({group("mix", "fifo", "0.7", {{1, "3600"}, {2, "7200"}}),
                                          group("mix", "pai", "0.7", {{1, "3600"}, {2, "3600"}}),
                                          group("mix", "fifo", "0.9", {{1, "7200"}, {2, "36000"}}),
                                          group("mix", "pai", "0.9", {{1, "3600"}, {2, "3600"}})},
                                         wait);
  REQUIRE(all.size() == 1);
  const std::string svg = drawing_of(all[0]);
  CHECK(count(svg, "<path class=\"band q") == 2);
  CHECK(count(svg, "<path class=\"curve s") == 2 + 2);  // the lines, and their marks in the legend
  CHECK(count(svg, "<path class=\"dots curve s") == 2);
  CHECK(has(svg, ">load: the work as a part of what the cluster can do</text>"));
  CHECK(has(svg, ">h</text>"));
  CHECK(has(svg, ">0.7</text>"));
  CHECK(has(svg, ">0.9</text>"));
  CHECK(has(svg, ">mix: Wait before the first start, mean</text>"));
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
}

TEST_CASE("compare_curves: every policy is in the legend, however many there are") {
  std::vector<lab::run_group> groups;
  for (int i = 0; i < 20; ++i) {
    const std::string policy = "a_policy_with_a_long_name_" + std::to_string(i);
    for (const char* load : {"0.7", "0.9"})
      groups.push_back(group("mix", policy, load, {{1, std::to_string(i)}}));
  }
  groups.push_back(group("mix", "without", "0.7", {}));
  const auto all = lab::curves_over_load(groups, wait);
  REQUIRE(all.size() == 1);
  const std::string svg = drawing_of(all[0]);
  const std::string html = lab::curve_figures(all);
  for (int i = 0; i < 20; ++i) {
    const std::string name = ">a_policy_with_a_long_name_" + std::to_string(i) + '<';
    CHECK(has(svg, name));
    CHECK(has(html, name.substr(1)));
  }
  CHECK(has(svg, ">without (no value)<"));
  // Those that share a colour differ in their dashes.
  CHECK(has(svg, "class=\"curve s0\""));
  CHECK(has(svg, "class=\"curve s0 dash"));
}

TEST_CASE("compare_curves: a line is interrupted where there is no value, and negative values have a sign") {
  const auto all =
      lab::curves_over_load({group("m", "a", "0.5", {{1, "-20"}}), group("m", "a", "0.6", {{1, "30"}}),
                             group("m", "b", "0.55", {{1, "5"}}), group("m", "b", "0.5", {{1, "5"}}),
                             group("m", "b", "0.6", {{1, "5"}})},
                            wait);
  REQUIRE(all.size() == 1);
  const std::string svg = drawing_of(all[0]);
  CHECK(count(svg, "<path class=\"dots curve s0\"") == 2);
  CHECK(count(svg, "<path class=\"dots curve s1\"") == 1);
  CHECK(has(svg, ">−20</text>"));
  CHECK(has(lab::curve_tables(all, "text"), "  a     -20 s     -  30 s\n"));
}

TEST_CASE("compare: like is compared with like") {
  const allot::vector<lab::run_group> groups = {
      in_set("load 0.7", "fifo", "fifo@0.7"), in_set("load 0.9", "fifo", "fifo@0.9"),
      in_set("load 0.7", "pai", "pai@0.7"), in_set("load 0.9", "pai", "pai@0.9")};
  const auto sets = lab::sets_of(groups);
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].name == "load 0.7");
  CHECK(sets[1].sides == std::vector<const lab::run_group*>{&groups[1], &groups[3]});
  CHECK(sets[1].names == std::vector<std::string>{"fifo", "pai"});
  // Where there is nothing alike, all are one.
  const auto all =
      lab::sets_of({in_set("load 0.7", "fifo", "fifo@0.7"), in_set("load 0.9", "fifo", "fifo@0.9")});
  REQUIRE(all.size() == 1);
  CHECK(all[0].name.empty());
  CHECK(all[0].names == std::vector<std::string>{"fifo@0.7", "fifo@0.9"});
}

TEST_CASE("compare_curves: hostile names") {
  const std::string hostile = "<script>\"&'\x1b[2J/../\n";
  const std::string tenant_figure = lab::figure_of_tenant(hostile, "queue_s/mean");
  std::vector<lab::run_group> groups;
  for (const char* load : {"0.7", "0.9"}) groups.push_back(group(hostile, hostile, load, {{1, "1"}}));
  for (lab::run_group& g : groups) {
    lab::errors found;
    auto run = lab::parse_summary("x", "x", R"({"format": "allot-summary/1", "seed": 1, "tenants": {
      "<script>\"&'\u001b[2J/../\n": {"queue_s": {"mean": 4}}}})",
                                  found);
    REQUIRE_MESSAGE(run, found.to_string());
    g.runs = {std::move(*run)};
  }
  const auto all = lab::curves_over_load(groups, {tenant_figure, tenant_figure});
  REQUIRE(all.size() == 2);
  for (const std::string& text :
       {drawing_of(all[0]), lab::curve_figures(all), lab::page_of_sides(groups, {tenant_figure})}) {
    // The page has scripts of its own.
    CHECK_FALSE(has(text, "<script>\"&"));
    CHECK(has(text, "&lt;script&gt;"));
  }
  CHECK_FALSE(has(lab::curve_tables(all, "text"), "\x1b"));
  const std::vector<std::string> files = lab::curve_files(all);
  REQUIRE(files.size() == 2);
  CHECK(files[0] != files[1]);
  for (const std::string& name : files) {
    CHECK(name.find_first_of("/<>\"&' \x1b\n") == std::string::npos);
    CHECK(name.front() != '.');
    CHECK(name.size() < 120);
  }
}
