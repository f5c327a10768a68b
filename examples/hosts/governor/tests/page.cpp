// SPDX-License-Identifier: BSL-1.0
#include "governor/src/page.hpp"

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

TEST_CASE("page: it refreshes itself, needs no network and runs no script") {
  const std::string page = page_of(test::sample("lab"), 3);
  CHECK(contains(page, "<meta http-equiv=refresh content=3>"));
  CHECK(contains(page, "default-src 'none'"));
  CHECK(contains(page, "<meta name=viewport"));
  CHECK_FALSE(contains(page_of(test::sample("lab"), 0), "http-equiv=refresh"));
  const std::set<std::string> forbidden{"script", "link", "img", "iframe", "object", "embed", "form"};
  for (const std::string& tag : structure_of(page)) {
    CHECK(forbidden.count(tag.substr(0, tag.find(' '))) == 0);
    CHECK_FALSE(contains(tag, " on"));
    CHECK_FALSE(contains(tag, " href"));
    CHECK_FALSE(contains(tag, " src"));
  }
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
