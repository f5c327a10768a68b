// SPDX-License-Identifier: BSL-1.0
#include "governor/src/page.hpp"

#include "governor/src/snapshot_text.hpp"
#include "governor/src/status.hpp"
#include "snapshots.hpp"

#include <allot/lab/printable.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace allot_governor;

namespace {

/// What a browser would see, without any text: tags with the names of their attributes, in order. A small
/// tokenizer by the HTML standard's rules for the markup that the page has.
[[nodiscard]] std::vector<std::string> structure_of(std::string_view page) {
  std::vector<std::string> tags;
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; };
  for (std::size_t at = 0; (at = page.find('<', at)) != std::string_view::npos;) {
    std::string tag;
    ++at;
    while (at < page.size() && page[at] != '>' && !is_space(page[at])) tag += page[at++];
    while (at < page.size() && page[at] != '>') {
      while (at < page.size() && is_space(page[at])) ++at;
      if (at >= page.size() || page[at] == '>') break;
      tag += ' ';
      while (at < page.size() && page[at] != '=' && page[at] != '>' && !is_space(page[at])) tag += page[at++];
      if (at >= page.size() || page[at] != '=') continue;
      ++at;
      if (at < page.size() && (page[at] == '"' || page[at] == '\'')) {
        at = page.find(page[at], at + 1);
        at = at == std::string_view::npos ? page.size() : at + 1;
      } else {
        while (at < page.size() && page[at] != '>' && !is_space(page[at])) ++at;
      }
    }
    tags.push_back(tag);
    if (tag == "style") at = page.find("</style>", at);
    if (at == std::string_view::npos) break;
  }
  return tags;
}

[[nodiscard]] bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("page: whatever users call things, a browser sees the same markup") {
  const auto expected = structure_of(page_of(test::sample("plain")));
  CHECK(expected.size() > 150);
  std::vector<std::string> names = test::hostile_names();
  std::mt19937_64 random{20};
  for (int i = 0; i < 300; ++i) names.push_back(test::random_text(random));
  for (const std::string& name : names) {
    // A user without a name is no link.
    if (name.empty()) continue;
    CAPTURE(name.substr(0, 40));
    const std::string page = page_of(test::sample(name));
    REQUIRE(structure_of(page) == expected);
    REQUIRE(allot::lab::is_utf8(page));
    for (const char c : page) {
      const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n';
      if (is_control) REQUIRE_FALSE(is_control);
    }
    CHECK(page.size() < 200'000);
  }
}

TEST_CASE("page: it refreshes itself, needs no network and runs no script but its own") {
  const std::string page = page_of(test::sample("lab"), 3);
  CHECK(contains(page, "<meta http-equiv=refresh content=3>"));
  CHECK(contains(page, "default-src 'none'"));
  CHECK(contains(page, "<meta name=viewport"));
  CHECK(contains(page, "<html lang=en data-refresh=3>"));
  CHECK(contains(page, "script-src 'sha256-"));
  CHECK_FALSE(contains(page_of(test::sample("lab"), 0), "http-equiv=refresh"));
  CHECK_FALSE(contains(page_of(test::sample("lab"), 0), "<script"));
  std::size_t scripts = 0;
  const std::set<std::string> forbidden{"link", "img", "iframe", "object", "embed", "form"};
  for (const std::string& tag : structure_of(page)) {
    CHECK(forbidden.count(tag.substr(0, tag.find(' '))) == 0);
    if (tag.starts_with("script")) ++scripts;
    CHECK_FALSE(contains(tag, " on"));
    CHECK_FALSE(contains(tag, " src"));
  }
  CHECK(scripts == 1);
  // Links lead to the page itself.
  std::size_t links = 0;
  for (std::size_t at = 0; (at = page.find("href=", at)) != std::string::npos; ++at, ++links)
    CHECK(page.substr(at + 5, 1) == "#");
  CHECK(links > 5);
}

TEST_CASE("page: the jobs of one quota, with those below it, or of one user can be picked out") {
  snapshot s = test::sample("lab");
  s.jobs[0].quota = 0;
  s.jobs[0].user = "ana";
  s.jobs[4].quota = 1;
  s.jobs[4].user = "ben <b>";
  const std::string page = page_of(s);
  const auto row_of = [&](const std::string& job) {
    const std::size_t at = page.find("<td>" + job + " <small>");
    return page.substr(page.rfind("<tr", at), at - page.rfind("<tr", at));
  };
  CHECK(row_of("100") == "<tr class=\"j k0 w0\">");
  CHECK(row_of("104") == "<tr class=\"j k1 w2\">");
  CHECK(contains(page, "#k1:target~main .j:not(.k1){display:none}"));
  // The third is above both.
  CHECK(contains(page, "#k2:target~main .j:not(.k2,.k0,.k1){display:none}"));
  CHECK(contains(page, "<p class=only id=w2>Only jobs of user ben &lt;b&gt;: <a href=#all>show all</a></p>"));
  CHECK(contains(page, "<td><a href=#w2>ben &lt;b&gt;</a>"));
  CHECK(contains(page, "<a href=#k1>lab/b</a>"));
}

TEST_CASE("page: the table of nodes begins with those that need attention") {
  const std::string page = page_of(test::sample("lab"));
  CHECK(contains(page, "<h2>Nodes (3, 1 down, 1 drained, 1 up)</h2>"));
  const std::size_t table = page.find("<th>node<th>state");
  REQUIRE(table != std::string::npos);
  const std::size_t down = page.find("<td>n2<td class=state>down", table);
  const std::size_t up = page.find("<td>n1<td>up<td class=n>7 of 8", table);
  CHECK(down != std::string::npos);
  CHECK(down < up);
  CHECK(up != std::string::npos);
}

TEST_CASE("page: a latest start is told once") {
  snapshot s = test::sample("lab");
  s.jobs[0].reason = "all of b is in use" + start_clause(*s.jobs[0].latest_start);
  const std::string page = page_of(s);
  CHECK(contains(page, "all of b is in use\n"));
  CHECK_FALSE(contains(page, "it starts at"));
  CHECK_FALSE(contains(status_text(s), "it starts at"));
  s.jobs[0].latest_start.reset();
  CHECK(contains(page_of(s), "it starts at"));
}

TEST_CASE("page: the last decisions are not hidden by nodes that come and go") {
  snapshot s = test::sample("lab");
  s.log = {"2026-11-23T21:14:05 release job=104"};
  for (int i = 0; i < 40; ++i)
    s.log.push_back("2026-11-23T21:14:06 node node=n" + std::to_string(i) + " state=up");
  const std::string page = page_of(s);
  CHECK(contains(page, "release job=104"));
  CHECK_FALSE(contains(page, "node=n7"));
  s.log.erase(s.log.begin());
  CHECK_FALSE(contains(page_of(s), "Last decisions"));
}

TEST_CASE("page: bars of what a quota uses, lends and borrows") {
  const std::string page = page_of(test::sample("lab"));
  // The widest bar ends at 128. a: 48 of its own, then 12 borrowed beyond its nominal; b: 20, and 12 lent.
  CHECK(contains(page,
                 "<i class=\"q0\" style=\"left:0.0%;width:37.5%\"></i>"
                 "<i class=\"q0 borrowed\" style=\"left:37.5%;width:9.3%\"></i>"
                 "<u style=\"left:37.5%\"></u>"));
  CHECK(contains(page,
                 "<i class=\"q1\" style=\"left:0.0%;width:15.6%\"></i>"
                 "<i class=\"lent\" style=\"left:15.6%;width:9.3%\"></i>"));
  CHECK(contains(page, "uses 60 of 48, borrows 12, wants 16 more; 3 running, 2 waiting, share 0.125"));
}

TEST_CASE("page: who is on which node, and why a job waits until when") {
  snapshot s = test::sample("lab");
  s.jobs[4].user = "ana";
  s.jobs[0].reason = "it needs 16 GPUs & 12 are free";
  const std::string page = page_of(s);
  CHECK(contains(page, "title=\"104 ana: 4 GPUs\">104</b>"));
  CHECK(contains(page,
                 "title=\"900 not governed: 2 GPUs\">900</b><b class=lost style=\"flex-grow:1\" "
                 "title=\"lost: 1 GPU\"></b>"
                 "<b class=free title=free></b></div>"));
  CHECK(contains(page, "104 ana: 4; 900 not governed: 2; lost until the acme server restarts: 1"));
  CHECK(contains(page, "it needs 16 GPUs &amp; 12 are free"));
  CHECK(contains(page, "(in 10 min)"));
  CHECK(contains(page, "makes room for 100"));
  CHECK(contains(page, "<span class=state>drained</span>"));
  s.is_away = s.observes = true;
  CHECK(contains(page_of(s), "the acme server does not answer"));
  CHECK(contains(page_of(s), "observes only"));
}

TEST_CASE("page: a large cluster makes a page of bounded lists") {
  snapshot s = test::sample("lab");
  const auto add = [&](const snapshot::job like, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      s.jobs.push_back(like);
      s.jobs.back().id = std::to_string(1000 + s.jobs.size());
    }
  };
  add(s.jobs[0], 999);
  add(s.jobs[4], 4999);
  s.phases = {9000, 1, 1, 1, 5000, 1};
  for (int i = 0; i < 1000; ++i) s.nodes.push_back({"m" + std::to_string(i), "up", 8, {{"104", 0, 4}}});
  const std::string page = page_of(s);
  CHECK(contains(page, "Waiting (9000)"));
  CHECK(contains(page, "and 8800 more"));
  CHECK(contains(page, "Running (5000)"));
  CHECK(contains(page, "and 4800 more"));
  CHECK(page.size() < 1'000'000);
}

TEST_CASE("page: odd amounts make odd bars, not broken ones") {
  snapshot s = test::sample("lab");
  s.quotas[0].nominal = {allot::quantity::unlimited()};
  s.quotas[0].used = {allot::quantity::unlimited(), allot::quantity::lowest()};
  s.quotas[1].borrowed = {};
  s.quotas[1].share = std::numeric_limits<double>::infinity();
  s.quotas[2].parent = 77;
  s.jobs[0].quota = 77;
  s.loans[0].lender = 77;
  s.nodes[0].used[0].gpus = 20;
  const std::string page = page_of(s);
  CHECK(contains(page, "share inf"));
  for (std::size_t at = 0; (at = page.find("style=\"left:", at)) != std::string::npos; ++at) {
    const double left = std::stod(page.substr(at + 12, 8));
    CHECK(left >= 0);
    CHECK(left <= 100);
  }
  CHECK(contains(page_of(snapshot{}), "</html>"));
}
