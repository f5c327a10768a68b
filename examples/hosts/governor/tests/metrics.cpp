// SPDX-License-Identifier: BSL-1.0
#include "governor/src/metrics.hpp"

#include "snapshots.hpp"

#include <allot/lab/printable.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace allot_governor;

namespace {

struct family {
  std::string type{};
  std::string help{};
  /// By labels.
  std::map<std::map<std::string, std::string>, double> samples{};
};

/// The text exposition format by its specification, as strictly as node_exporter reads it: throws at anything
/// that it would refuse.
class metrics_parser {
 public:
  explicit metrics_parser(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::map<std::string, family> parse() {
    if (!allot::lab::is_utf8(rest_)) throw std::runtime_error{"not UTF-8"};
    std::map<std::string, family> all;
    std::string current;
    while (!rest_.empty()) {
      if (take("# HELP ")) {
        current = name();
        if (all.count(current) != 0) throw std::runtime_error{"a family in two places: " + current};
        expect(' ');
        all[current].help = line();
        expect('\n');
        if (!take("# TYPE ") || name() != current) throw std::runtime_error{"no type: " + current};
        expect(' ');
        all[current].type = line();
        expect('\n');
        continue;
      }
      if (name() != current) throw std::runtime_error{"a sample of another family than " + current};
      std::map<std::string, std::string> labels;
      if (take("{")) {
        do {
          const std::string label = name();
          expect('=');
          if (!labels.emplace(label, quoted()).second) throw std::runtime_error{"a label twice: " + label};
        } while (take(","));
        expect('}');
      }
      expect(' ');
      if (!all[current].samples.emplace(labels, value()).second)
        throw std::runtime_error{"a series twice: " + current};
    }
    return all;
  }

 private:
  bool take(std::string_view what) {
    if (rest_.substr(0, what.size()) != what) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  void expect(char c) {
    if (!take({&c, 1}))
      throw std::runtime_error{std::string{"expected "} + c + " at " + std::string{rest_.substr(0, 40)}};
  }
  std::string line() {
    const std::string_view all = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(all.size());
    return std::string{all};
  }
  std::string name() {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    const std::string_view all = rest_.substr(0, rest_.find_first_not_of(letters));
    if (all.empty()) throw std::runtime_error{"no name at " + std::string{rest_.substr(0, 40)}};
    rest_.remove_prefix(all.size());
    return std::string{all};
  }
  std::string quoted() {
    expect('"');
    std::string text;
    while (!rest_.empty() && rest_[0] != '"') {
      char c = rest_[0];
      if (c == '\n') throw std::runtime_error{"a line break in a label"};
      rest_.remove_prefix(1);
      if (c == '\\') {
        c = rest_.empty() ? '\0' : rest_[0];
        if (c != '\\' && c != '"' && c != 'n') throw std::runtime_error{"no such escape"};
        if (c == 'n') c = '\n';
        rest_.remove_prefix(1);
      }
      text += c;
    }
    expect('"');
    return text;
  }
  double value() {
    const std::string text = line();
    expect('\n');
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') throw std::runtime_error{"no number: " + text};
    return v;
  }

  std::string_view rest_;
};

[[nodiscard]] std::map<std::string, family> parsed(const snapshot& s) {
  return metrics_parser{metrics_of(s)}.parse();
}

}  // namespace

TEST_CASE("metrics: the values are those of the snapshot") {
  snapshot s = test::sample("lab");
  s.since_start.released = 18'446'744'073'709'551'615U;
  s.since_start.held_again = 3;
  s.quotas[1].share = std::numeric_limits<double>::infinity();
  const auto all = parsed(s);
  for (const auto& one : all) {
    const auto& [name, f] = one;
    CAPTURE(one.first);
    CHECK(name.starts_with("allot_acme_"));
    const bool is_total = name.size() > 6 && name.substr(name.size() - 6) == "_total";
    CHECK(f.type == (is_total ? "counter" : "gauge"));
    CHECK(f.help.size() > 5);
    CHECK_FALSE(f.samples.empty());
  }
  const auto of = [&](const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    return all.at("allot_acme_" + name).samples.at(labels);
  };
  CHECK(of("quota_used", {{"quota", "lab/a"}, {"resource", "gpu"}}) == 60);
  CHECK(of("quota_requested", {{"quota", "lab/a"}, {"resource", "cpu"}}) == 2.5);
  CHECK(std::isinf(of("quota_nominal", {{"quota", "lab/b"}, {"resource", "cpu"}})));
  CHECK(of("quota_lent", {{"quota", "lab/b"}, {"resource", "gpu"}}) == 12);
  CHECK(of("quota_share", {{"quota", "lab/a"}}) == 0.125);
  CHECK(std::isinf(of("quota_share", {{"quota", "lab/b"}})));
  CHECK(of("quota_waiting_jobs", {{"quota", "lab"}}) == 2);
  CHECK(of("loan", {{"lender", "lab/b"}, {"borrower", "lab/a"}, {"resource", "gpu"}}) == 12);
  CHECK(of("jobs", {{"phase", "leaving"}}) == 1);
  CHECK(of("nodes", {{"state", "drained"}}) == 1);
  CHECK(of("gpus", {{"state", "up"}}) == 8);
  CHECK(of("gpus_used", {{"governed", "no"}}) == 2);
  CHECK(of("gpus_used", {{"governed", "yes"}}) == 12);
  CHECK(of("gpus_lost", {}) == 1);
  CHECK(of("ticks_total") == 7);
  CHECK(of("interventions_undone_total") == 3);
  CHECK(of("tick_cpu_seconds_total") == doctest::Approx(1.000042));
  CHECK(of("server_up") == 1);
  CHECK(of("last_tick_timestamp_seconds") == doctest::Approx(1'795'468'445.123));
  CHECK(metrics_of(s).find("allot_acme_releases_total 18446744073709551615\n") != std::string::npos);
}

TEST_CASE("metrics: as many series with thousands of jobs and nodes as with none") {
  snapshot s = test::sample("lab");
  const auto count = [](const snapshot& of) {
    std::size_t n = 0;
    for (const auto& [name, f] : parsed(of)) n += f.samples.size();
    return n;
  };
  const std::size_t before = count(s);
  for (std::size_t i = 0; i < 3000; ++i) {
    s.jobs.push_back(s.jobs[i % 6]);
    s.nodes.push_back(s.nodes[0]);
  }
  CHECK(count(s) == before);
  s.jobs.clear();
  s.nodes.clear();
  CHECK(count(s) == before);
}

TEST_CASE("metrics: whatever quotas are called, the file can be read and the names come back") {
  std::vector<std::string> names = test::hostile_names();
  std::mt19937_64 random{20};
  for (int i = 0; i < 1000; ++i) names.push_back(test::random_text(random));
  for (const std::string& name : names) {
    CAPTURE(name.substr(0, 40));
    snapshot s = test::sample(name);
    s.resources[0] = name + "/gpu";
    const auto all = parsed(s);
    if (name.size() > 1000 || !allot::lab::is_utf8(name)) continue;
    REQUIRE(
        all.at("allot_acme_quota_used").samples.at({{"quota", name + "/a"}, {"resource", name + "/gpu"}}) ==
        60);
    REQUIRE(all.at("allot_acme_info").samples.count({{"cluster", name}, {"policy", "standard"}}) == 1);
  }
}

TEST_CASE("metrics: what the snapshot says twice is one series") {
  snapshot s = test::sample("lab");
  s.loans.push_back(s.loans[0]);
  s.loans.push_back({9, 9, 9, allot::gpus(1)});
  CHECK(parsed(s).at("allot_acme_loan").samples.size() == 1);
  CHECK(parsed(s).at("allot_acme_loan").samples.begin()->second == 24);
  CHECK(parsed({.words = test::some_words}).at("allot_acme_ticks_total").samples.size() == 1);
}
