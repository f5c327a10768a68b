// SPDX-License-Identifier: BSL-1.0
// The parts that the report is made of: axes, thinning, texts that must not break a page, and what is kept of
// a replay for it.
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/report/report.hpp"
#include "lab/report/report_chart.hpp"
#include "lab/report/timeline_log.hpp"

#include <allot/lab/trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/lab/scenarios.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
namespace report = allot::lab::report;
using allot::instant;
using allot::quota_id;
using allot::lab::day;
using allot::lab::hour;
using allot::lab::second;

TEST_CASE("report_chart: scales end at the values, with a few round ticks") {
  CHECK(report::scale_for(0) == report::scale{1, 1});
  CHECK(report::scale_for(128'000) == report::scale{130'000, 50'000});
  CHECK(report::scale_for(100'000) == report::scale{100'000, 20'000});
  CHECK(report::scale_for(43'210) == report::scale{44'000, 10'000});
  // There are no fractions of a job.
  CHECK(report::scale_for(1'000, true) == report::scale{1'000, 1'000});
  CHECK(report::scale_for(3'000, true) == report::scale{3'000, 1'000});
  for (std::int64_t most = 1; most < 3'000'000'000; most += most / 3 + 1) {
    const report::scale s = report::scale_for(most);
    CAPTURE(most);
    CHECK(s.top >= most);
    // At most a fifth of a step is empty.
    CHECK(s.top - most <= std::max<std::int64_t>(s.step / 5, s.step == s.top ? s.step : 0));
    CHECK(s.top / s.step >= 1);
    CHECK(s.top / s.step <= 5);
  }
}

TEST_CASE("report_chart: ticks of time are at full units, and not too many") {
  const auto texts = [](instant begin, instant end) {
    std::vector<std::string> all;
    for (const report::tick& t : report::time_ticks(begin, end)) all.push_back(t.text);
    return lines{all};
  };
  CHECK(texts(0, 14 * day) == lines{"day 0", "2", "4", "6", "8", "10", "12", "14"});
  CHECK(texts(day / 2, 3 * day) == lines{"hour 12", "24", "36", "48", "60", "72"});
  CHECK(texts(0, 100 * second) == lines{"second 0", "15", "30", "45", "60", "75", "90"});
  CHECK(report::time_ticks(5, 5).empty());
  for (instant span = 1'000; span < 40'000 * day; span += span / 5 + 77) {
    for (const instant begin : {instant{0}, span / 3, 1'000'003 * second}) {
      const auto ticks = report::time_ticks(begin, begin + span);
      CAPTURE(begin);
      CAPTURE(span);
      CHECK(ticks.size() <= 9);
      CHECK((span < 2 * second || !ticks.empty()));
      for (std::size_t i = 0; i < ticks.size(); ++i) {
        CHECK(ticks[i].at >= 0);
        CHECK(ticks[i].at <= 1'000'000);
        CHECK((i == 0 || ticks[i - 1].at < ticks[i].at));
      }
    }
  }
}

TEST_CASE("report_chart: the logarithmic axis is one, within a hundredth of its length") {
  const report::log_time_axis axis{5 * day};
  CHECK(axis.end() == 7 * day);
  CHECK(axis.position(0) == 0);
  CHECK(axis.position(second) == 0);
  CHECK(axis.position(7 * day) == 1'000'000);
  CHECK(axis.position(70 * day) == 1'000'000);
  std::int64_t last = 0;
  for (instant t = second; t <= 7 * day; t += t / 7 + 1) {
    const std::int64_t at = axis.position(t);
    CHECK(at >= last);
    last = at;
    const double exact = std::log(static_cast<double>(t) / 1000.0) / std::log(7 * 86400.0);
    CHECK(std::abs(static_cast<double>(at) / 1e6 - exact) < 0.01);
  }
  std::vector<std::string> texts;
  for (const report::tick& t : axis.ticks()) texts.push_back(t.text);
  CHECK(lines{texts} == lines{"1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "7 d"});
  // No job waited: the axis is still drawn.
  CHECK(report::log_time_axis{0}.end() == allot::lab::minute);
}

TEST_CASE("report_chart: the same axis for ratios begins at one") {
  const auto axis = report::log_time_axis::of_ratios(45'000);
  CHECK(axis.end() == 100'000);
  CHECK(axis.position(1'000) == 0);
  CHECK(axis.position(10'000) > 490'000);
  CHECK(axis.position(10'000) < 510'000);
  std::vector<std::string> texts;
  for (const report::tick& t : axis.ticks()) texts.push_back(t.text);
  CHECK(lines{texts} == lines{"1", "2", "10", "100"});
}

TEST_CASE("report: the part of the jobs that had started") {
  const report::log_time_axis axis{hour};
  const auto part = report::cdf_of({0, 0, 30 * allot::lab::minute, hour}, axis);
  REQUIRE(part.size() == report::cdf_points);
  CHECK(part.front() == 500'000);
  CHECK(part.back() == 1'000'000);
  CHECK(std::is_sorted(part.begin(), part.end()));
  CHECK(std::find(part.begin(), part.end(), 750'000) != part.end());
}

TEST_CASE("report_chart: a chart is stretched on the page, and a drawing of its own") {
  report::chart c{"x", "A < B & \"C\"", "note", "gpus"};
  c.set_ticks({{0, "day 0"}, {1'000'000, "1"}}, "time & more");
  c.set_values({10'000, 5'000}, "GPUs");
  c.area({{0, 10'000}, {500'000, 5'000}, {1'000'000, 5'000}}, "area q0");
  c.explain("q0", "team <a>");
  std::string html;
  c.write_figure(html);
  CHECK(html.find("A &lt; B &amp; &quot;C&quot;") != std::string::npos);
  CHECK(html.find("team &lt;a&gt;") != std::string::npos);
  CHECK(html.find("d=\"M0 1000V0H500V500H1000V1000Z\"") != std::string::npos);
  const std::string svg = report::standalone_svg(std::span{&c, 1}, "t");
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  CHECK(svg.find("var(--") == std::string::npos);
  CHECK(svg.find(">day 0</text>") != std::string::npos);
  CHECK(html.find("<em>time &amp; more</em>") != std::string::npos);
  CHECK(svg.find(">time &amp; more</text>") != std::string::npos);
  // Between a gain and a loss there is a line at zero.
  report::chart both{"y", "t", "n", "lending"};
  both.set_values({10'000, 5'000}, "GPUs", -10'000);
  both.area({{0, -10'000}, {1'000'000, -10'000}}, "area q0");
  html.clear();
  both.write_plot(html);
  CHECK(html.find("d=\"M0 500V1000H1000V500Z\"") != std::string::npos);
  CHECK(html.find("class=axis d=\"M0 500H1000\"") != std::string::npos);
}

TEST_CASE(
    "report_chart: a legend has the rows that it needs, and a long name is cut where a character ends") {
  report::chart c{"x", "t", "n", ""};
  const std::int64_t without = c.drawn_height(720);
  for (int i = 0; i < 30; ++i) c.explain("q0", "a name of some length, " + std::to_string(i));
  std::string name;
  for (int i = 0; i < 400; ++i) name += "ä";
  c.explain("q1", name);
  CHECK(c.drawn_height(720) > without);
  const std::string svg = report::standalone_svg(std::span{&c, 1}, "t");
  for (int i = 0; i < 30; ++i) {
    CHECK(svg.find(">a name of some length, " + std::to_string(i) + "</text>") != std::string::npos);
  }
  CHECK(svg.find(name) == std::string::npos);
  CHECK(svg.find("ää…</text>") != std::string::npos);
}

TEST_CASE("report_chart: an axis begins at zero unless the values are far from it") {
  using report::range_for;
  CHECK(range_for(0, 10'000).bottom == 0);
  CHECK(range_for(5'000, 10'000).bottom == 0);
  CHECK(range_for(5'000, 5'000).bottom == 0);
  CHECK(range_for(0, 0).y.top > 0);
  for (const auto& [least, most] :
       {std::pair{950, 990}, {9'000, 10'000}, {-20'000, 30'000}, {-5, -1}, {-7, 0}}) {
    const report::range r = range_for(least, most);
    CHECK(r.bottom <= least);
    CHECK(r.y.top >= most);
    CHECK(r.bottom != 0);
    CHECK(r.bottom % r.y.step == 0);
    CHECK((r.y.top - r.bottom) / r.y.step <= 10);
    CHECK((r.y.top - r.bottom) / r.y.step >= 2);
  }
}

TEST_CASE("report: stops show as many intervals as they may") {
  for_each_seed(60, [](random_source& random) {
    const auto below = [&](std::int64_t n) { return random.between(0, n - 1); };
    const instant begin = below(1'000);
    const instant end = begin + 1 + below(100'000);
    std::vector<report::interval> all;
    const std::int64_t count = below(400);
    for (std::int64_t i = 0; i < count; ++i) {
      const instant from = begin + below(end - begin);
      all.push_back({from, std::min(end, from + below(below(2) == 0 ? 50 : 20'000))});
    }
    const auto seen_by_scan = [&](const std::vector<instant>& stops) {
      std::size_t n = 0;
      for (const report::interval& i : all) {
        const bool seen = stops.empty() ? i.begin < i.end
                                        : std::any_of(stops.begin(), stops.end(),
                                                      [&](instant t) { return i.begin <= t && t < i.end; });
        CHECK(seen == report::is_seen(i, stops));
        n += seen;
      }
      return n;
    };
    std::vector<instant> candidates;
    for (instant t = begin; t < end; t += 1 + below(3'000)) candidates.push_back(t);
    const auto most = static_cast<std::size_t>(below(200));
    const auto stops = report::stops_for(all, candidates, most);
    CHECK(stops.empty() == (seen_by_scan({}) <= most));
    if (stops.empty()) return;
    CHECK(stops.front() == begin);
    // Every 2^n-th candidate, with the smallest n that suffices; one stop may be too many, but then there are
    // no more.
    std::vector<instant> expected = candidates;
    while (expected.size() > 1 && seen_by_scan(expected) > most) {
      std::vector<instant> half;
      for (std::size_t i = 0; i < expected.size(); i += 2) half.push_back(expected[i]);
      expected = half;
    }
    CHECK(stops == expected);
  });
}

TEST_CASE("report: places of pods in short") {
  const auto text = [](std::size_t node, std::uint64_t devices, std::uint32_t milli) {
    std::string s;
    allot::sim::run_pod pod{};
    pod.where.node = allot::gpu::node_id{node};
    pod.where.devices = devices;
    pod.milli = milli;
    report::append_place(s, pod);
    return s;
  };
  CHECK(text(3, 0xFF, 1000) == "3:0-7");
  CHECK(text(12, 0b1011, 1000) == "12:0-1,3");
  CHECK(text(0, 0b100, 500) == "0:2*500");
  CHECK(text(1, ~std::uint64_t{0}, 1000) == "1:0-63");
  CHECK(text(1, std::uint64_t{1} << 63U, 1000) == "1:63");
  CHECK(text(5, 0, 1000) == "5");
}

TEST_CASE("report: no text ends the script element or the string") {
  std::string every;
  for (int c = 1; c < 128; ++c) every += static_cast<char>(c);
  every += "</script><!--]]>\xC3\xA9\xE2\x80\xA8";
  std::string json;
  report::append_json_string(json, every);
  for (const char c : {'<', '>', '&', '\n'}) CHECK(json.find(c) == std::string::npos);
  lab::errors found;
  const auto document = lab::json_document::parse("x", json, found);
  REQUIRE(document);
  CHECK(document->root().text() == every);
  CHECK(report::escaped("<a href=\"x\">&") == "&lt;a href=&quot;x&quot;&gt;&amp;");
}

TEST_CASE("report: a time of nobody") {
  CHECK(lab::human_time(allot::lab::sample_summary{}, 0) == "-");
}

TEST_CASE("timeline_log: some hundred instants, almost evenly spaced") {
  for_each_seed(40, [](random_source& random) {
    const std::size_t most = 2 + random.below(30);
    lab::timeline_log log{most};
    std::vector<instant> happened;
    instant now = random.between(0, 999);
    const std::size_t count = random.below(600);
    for (std::size_t i = 0; i < count; ++i) {
      now += random.between(1, random.one_in(20) ? 90'000 : 50);
      happened.push_back(now);
      log.look(now, [](auto) { return lab::wait_reason{}; });
    }
    const auto moments = log.moments();
    CHECK(moments.size() <= most);
    CHECK(moments.size() >= std::min<std::size_t>(count, 1));
    if (count <= most) CHECK(moments.size() == count);
    if (moments.empty()) return;
    CHECK(moments.front().at == happened.front());
    // Some width explains them: each is the first event of its span, and every span has one.
    const instant origin = happened.front();
    bool explained = false;
    for (instant width = 1; width < instant{1} << 40U; width *= 2) {
      std::vector<instant> firsts;
      for (const instant t : happened) {
        if (firsts.empty() || (t - origin) / width != (firsts.back() - origin) / width) firsts.push_back(t);
      }
      explained = explained || std::equal(firsts.begin(), firsts.end(), moments.begin(), moments.end(),
                                          [](instant t, const auto& m) { return t == m.at; });
    }
    CHECK(explained);
  });
}

TEST_CASE("timeline_log: with some times known before, fewer reasons are asked for and none is missing") {
  for_each_seed(60, [](random_source& random) {
    const std::size_t most = 2 + random.below(30);
    lab::timeline_log log{most};
    lab::timeline_log knows{most};
    std::vector<instant> times(1 + random.below(900));
    instant now = random.between(0, 999);
    for (instant& t : times) t = now += random.between(1, random.one_in(20) ? 90'000 : 50);
    allot::vector<instant> expected;
    for (const instant t : times) {
      if (random.below(3) != 0) expected.push_back(t);
    }
    knows.expect(expected);
    // It may end before all have come.
    if (random.one_in(3)) times.resize(1 + random.below(times.size()));
    std::size_t asked = 0;
    std::size_t asked_knowing = 0;
    log.waits(quota_id{0}, 0, 7);
    knows.waits(quota_id{0}, 0, 7);
    for (const instant t : times) {
      const auto why = [t](std::size_t& count) {
        return [&count, t](auto) {
          ++count;
          return lab::wait_reason{.amount = t};
        };
      };
      log.look(t, why(asked));
      knows.look(t, why(asked_knowing));
    }
    knows.conclude();
    CHECK(asked_knowing <= asked);
    const auto all = log.moments();
    std::size_t at = 0;
    for (const auto& m : knows.moments()) {
      REQUIRE(m.waiting.size() == 1);
      CHECK(m.waiting.front().why.amount == m.at);
      while (at < all.size() && all[at].at < m.at) ++at;
      REQUIRE(at < all.size());
      CHECK(all[at].at == m.at);
    }
    const bool all_came = expected.empty() || expected.back() <= times.back();
    if (all_came) CHECK(knows.moments().size() == all.size());
  });
}

TEST_CASE("timeline_log: the first of every queue, by priority, then submission") {
  for_each_seed(40, [](random_source& random) {
    lab::timeline_log log{10'000};
    struct waiting {
      std::size_t quota;
      std::int64_t priority;
    };
    std::map<allot::sim::job_index, waiting> all;
    const std::size_t quotas = 1 + random.below(20);
    for (instant now = 0; now < 60; ++now) {
      for (int i = 0; i < 6; ++i) {
        const auto j = static_cast<allot::sim::job_index>(random.below(300));
        if (const auto at = all.find(j); at != all.end()) {
          log.waits_no_more(quota_id{at->second.quota}, at->second.priority, j);
          all.erase(at);
        } else {
          const waiting w{j % quotas, static_cast<std::int64_t>(j % 5) - 2};
          all.emplace(j, w);
          log.waits(quota_id{w.quota}, w.priority, j);
        }
      }
      // Removing a job that is not waiting changes nothing.
      log.waits_no_more(quota_id{0}, 0, 999);
      std::size_t asked = 0;
      log.look(now, [&](allot::sim::job_index j) {
        ++asked;
        return lab::wait_reason{.amount = j};
      });
      const auto& told = log.moments().back().waiting;
      CHECK(asked == told.size());
      std::map<std::size_t, std::vector<std::pair<std::int64_t, allot::sim::job_index>>> by_quota;
      for (const auto& [j, w] : all) by_quota[w.quota].emplace_back(-w.priority, j);
      std::vector<allot::sim::job_index> expected;
      const std::size_t each =
          by_quota.empty() ? 1
                           : std::clamp<std::size_t>(lab::timeline_log::most_at_once / by_quota.size(), 1, 8);
      for (auto& [quota, jobs] : by_quota) {
        std::sort(jobs.begin(), jobs.end());
        for (std::size_t i = 0; i < std::min(each, jobs.size()); ++i) expected.push_back(jobs[i].second);
      }
      std::vector<allot::sim::job_index> found;
      for (const auto& n : told) {
        found.push_back(n.job);
        CHECK(n.why.amount == n.job);
      }
      CHECK(found == expected);
    }
  });
}

TEST_CASE("timeline_log: nodes have numbers") {
  lab::timeline_log log;
  CHECK(log.number_of_nodes("") == 0);
  CHECK(log.nodes(0).empty());
  CHECK(log.number_of_nodes("n-1") == 1);
  CHECK(log.number_of_nodes("n-2") == 2);
  CHECK(log.number_of_nodes("n-1") == 1);
  CHECK(log.nodes(2) == "n-2");
}

TEST_CASE("timeline_log: reasons as sentences") {
  using kind = lab::wait_reason::kind;
  const auto told = [](kind what, std::int64_t amount, std::string_view at = "q",
                       std::string_view resource = "gpu") {
    return lab::sentence({what, 0, {}, amount}, at, resource);
  };
  CHECK(told(kind::capacity, 1'000) == "all of q is in use, 1 GPU short");
  CHECK(told(kind::capacity, 2'500, "") == "all of the cluster is in use, 2.5 GPUs short");
  CHECK(told(kind::borrow_limit, 16'000, "q", "cpu") == "borrow limit of q, 16 cpu short");
  CHECK(told(kind::nominal, 500) == "q has used what it owns and may not borrow, 0.5 GPU short");
  CHECK(told(kind::guarantee, 2'000) == "not preemptible, and what q owns is in use, 2 GPUs short");
  CHECK(told(kind::full, 0) == "no GPU is free");
  CHECK(told(kind::full, 3'000) == "only 3 GPUs free");
  CHECK(told(kind::fragmented, 4'000) == "enough is free, but at most 4 GPUs together");
  std::set<std::string> all;
  for (int i = 0; i <= static_cast<int>(kind::waits_turn); ++i) all.insert(told(static_cast<kind>(i), 1));
  CHECK(all.size() == static_cast<std::size_t>(kind::waits_turn) + 1);
  lab::wait_reason promised{.what = kind::full, .by = 90'000};
  CHECK(sentence(promised, "q", "gpu") == "no GPU is free; starts by day 0, 00:01:30");
  CHECK(sentence(promised, "q", "gpu", "n-1 to n-3") ==
        "no GPU is free; starts by day 0, 00:01:30, as planned now on n-1 to n-3");
  promised.spares_others = true;
  CHECK(sentence(promised, "q", "gpu") ==
        "no GPU is free; could preempt, but others would lose too much work; starts by day 0, 00:01:30");
  promised.spares_others = false;
  promised.gathers = true;
  CHECK(sentence(promised, "q", "gpu") == "no GPU is free; gathers what becomes free until day 0, 00:01:30");
}
