// SPDX-License-Identifier: BSL-1.0
#include "governor/src/status.hpp"

#include "snapshots.hpp"

#include <allot/lab/printable.hpp>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

namespace json = boost::json;
using namespace allot_governor;

namespace {

/// Times in tables are local.
struct in_utc {
  in_utc() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

[[nodiscard]] bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("status: what a job asks for may be unknown") {
  snapshot s = test::sample("lab");
  s.jobs[0].request.clear();
  CHECK(contains(status_text(s), "unknown"));
  const auto read = read_status(status_json(s), s.words);
  REQUIRE(read);
  CHECK(status_text(*read) == status_text(s));
}

TEST_CASE("status: quotas in the order of the tree, loans, reservations, and who waits why") {
  const in_utc utc;
  snapshot s = test::sample("lab");
  s.jobs[0].reason = "12 GPUs are free, and it needs 16";
  s.jobs[0].user = "ana";
  const std::string text = status_text(s);
  CHECK(text.substr(0, text.find('\n')) == "cluster lab, policy standard, 2026-11-23T21:14:05");
  CHECK(contains(text,
                 "Quotas: gpu\n"
                 "  quota    nominal  used  lent  borrowed  wants  share  running  waiting  entitled\n"
                 "  lab          128    80     0         0     16  0.125        3        2       128\n"
                 "    lab/a       48    60     0        12     16  0.125        3        2        48\n"
                 "    lab/b       80    20    12         0     16  0.125        3        2        80\n"));
  CHECK(contains(text, "Quotas: cpu\n  quota      nominal"));
  CHECK(contains(text,
                 "Nodes: 1 of 3 up with 8 GPUs, 14 GPUs in use\n  2 of them by jobs without a quota: 900\n  "
                 "n1 lost 1 GPU: restart the acme server, n2 down, "
                 "lab drained\n"));
  CHECK(contains(text, "Loans\n  lab/b lends 12 gpu to lab/a\n"));
  CHECK(contains(text,
                 "  100 of lab/a starts by 2026-11-23T21:24:05, when these have left: 105; first promised:\n"
                 "  2026-11-23T21:19:05; later because: lab\n"
                 "  101 of lab/b is next\n"));
  CHECK(contains(text,
                 "Waiting (1)\n"
                 "  100  ana  lab/a  8 gpu, 64 cpu  for 12 min  starts by 2026-11-23T21:24:05\n"
                 "      12 GPUs are free, and it needs 16\n"));
  CHECK(contains(text, "Leaving (1)\n"));
  CHECK(contains(text, "      makes room for 100\n"));
  CHECK(contains(text, "Refused (1)\n  101  lab  lab "));
  CHECK_FALSE(contains(text, "observes only"));
  s.observes = s.is_away = true;
  CHECK(contains(status_text(s), "observes only"));
  CHECK(contains(status_text(s), "the acme server does not answer"));
}

TEST_CASE("status: long lists are cut, and it says by how much") {
  snapshot s = test::sample("lab");
  const snapshot::job like = s.jobs[0];
  for (int i = 0; i < 99; ++i) s.jobs.push_back(like);
  s.phases[static_cast<std::size_t>(job_phase::waiting)] = 5000;
  const std::string text = status_text(s, {.width = 80, .most_jobs = 10});
  CHECK(contains(text, "Waiting (5000, the first 10 are listed)\n"));
  std::size_t listed = 0;
  for (std::size_t at = 0; (at = text.find("\n  100  ", at)) != std::string::npos; ++at) ++listed;
  CHECK(listed == 10);
}

TEST_CASE("status: an empty snapshot is a status too") {
  CHECK(contains(status_text(snapshot{}), "cluster , policy "));
  CHECK(json::parse(status_json(snapshot{})).at("quotas").as_array().empty());
}

TEST_CASE("status: a terminal obeys nothing of what users call things") {
  const std::size_t plain = status_text(test::sample("plain")).size();
  for (const std::string& name : test::hostile_names()) {
    CAPTURE(name.substr(0, 40));
    const std::string text = status_text(test::sample(name));
    CHECK(allot::lab::is_utf8(text));
    std::size_t obeyed = 0;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n') || byte == 0x7f) ++obeyed;
    }
    CHECK(obeyed == 0);
    for (const char* mark : {"\xe2\x80\xae", "\xe2\x80\xa8", "\xc2\x85", "\nQuotas: gpu\r"}) {
      CHECK_FALSE(contains(text, mark));
    }
    std::size_t heads = 0;
    for (std::size_t at = 0; (at = text.find("\nQuotas: gpu", at)) != std::string::npos; ++at) ++heads;
    CHECK(heads == 1);
    CHECK(text.size() < plain + 40'000);
  }
}

TEST_CASE("status: JSON says all that the snapshot does") {
  snapshot s = test::sample("lab");
  s.quotas[0].share = std::numeric_limits<double>::infinity();
  const json::value v = json::parse(status_json(s));
  CHECK(v.at("format").as_string() == "allot-acme-status/1");
  CHECK(v.at("now").as_int64() == 1'795'468'445);
  CHECK(v.at("server_answers").as_bool());
  const json::value& q = v.at("quotas").at(0);
  CHECK(q.at("name").as_string() == "lab/a");
  CHECK(q.at("parent").as_string() == "lab");
  CHECK(v.at("quotas").at(2).at("parent").is_null());
  CHECK(q.at("nominal").at("gpu").as_int64() == 48);
  CHECK(q.at("nominal").at("cpu").as_string() == "unlimited");
  CHECK(q.at("requested").at("cpu").as_double() == 2.5);
  CHECK(q.at("share").is_null());
  CHECK(v.at("quotas").at(1).at("share").as_double() == 0.125);
  CHECK(v.at("phases").at("leaving").as_int64() == 1);
  const json::array& jobs = v.at("jobs").as_array();
  REQUIRE(jobs.size() == s.jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CHECK(jobs[i].at("id").as_string() == s.jobs[i].id);
    CHECK(jobs[i].at("phase").as_string() == job_phase_names[i]);
    CHECK(jobs[i].at("started").is_null() == (i < 4));
    CHECK(jobs[i].at("quota").is_null() == !s.jobs[i].quota);
  }
  CHECK(jobs[0].at("promised").as_int64() == 1'795'469'045);
  CHECK(jobs[5].at("beneficiary").as_string() == "100");
  CHECK(jobs[4].at("beneficiary").is_null());
  CHECK(v.at("nodes").at(0).at("used").at(1).at("job").is_null());
  CHECK(v.at("nodes").at(0).at("used").at(1).at("ungoverned").as_string() == "900");
  CHECK(v.at("nodes").at(0).at("used").at(0).at("quota").as_string() == "lab/a");
  CHECK(v.at("nodes").at(0).at("lost_gpus").as_int64() == 1);
  CHECK(v.at("loans").at(0).at("lender").as_string() == "lab/b");
  CHECK(v.at("reservations").at(1).at("start").is_null());
  CHECK(v.at("since_start").at("tick_us").as_int64() == 1'000'042);
}

TEST_CASE("status: JSON gives every UTF-8 name back, and stays JSON with any bytes") {
  for (const std::string& name : test::hostile_names()) {
    CAPTURE(name.substr(0, 40));
    const json::value v = json::parse(status_json(test::sample(name)));
    if (name.size() < 1000 && allot::lab::is_utf8(name)) {
      CHECK(v.at("jobs").at(0).at("name").as_string() == name);
    }
  }
  std::mt19937_64 random{20};
  for (int i = 0; i < 300; ++i) {
    const std::string name = test::random_text(random);
    json::error_code wrong;
    const json::value v = json::parse(status_json(test::sample(name)), wrong);
    REQUIRE_FALSE(wrong);
    if (allot::lab::is_utf8(name)) REQUIRE(v.at("cluster").as_string() == name);
  }
}

TEST_CASE("status: what is read from the JSON makes the same text") {
  const in_utc utc;
  snapshot s = test::sample("lab");
  s.jobs[0].before = 3;
  s.jobs[3].host_reason = "Resources";
  s.jobs[0].components = {{1, {allot::gpus(0), allot::gpus(4)}}, {3, {allot::gpus(24), allot::gpus(96)}}};
  s.jobs[0].request = {allot::gpus(24), allot::gpus(100)};
  CHECK(contains(status_text(s), "24 gpu, 100 cpu on 1 + 3 nodes"));
  const auto read = read_status(status_json(s), s.words);
  REQUIRE(read);
  CHECK(status_text(*read) == status_text(s));
  CHECK(why_text(*read, "100").find("before it    3 in its quota\n") != std::string::npos);
  CHECK(contains(why_text(*read, "100"),
                 "component 0  4 cpu on 1 node\ncomponent 1  24 gpu, 96 cpu on 3 nodes\n"));
  CHECK_FALSE(read_status("{}", test::some_words));
  CHECK_FALSE(read_status("[1", test::some_words));
  CHECK_FALSE(read_status(R"({"format": "allot-acme-status/1", "jobs": 3})", test::some_words));
  for (const std::string& name : test::hostile_names()) {
    CHECK(read_status(status_json(test::sample(name)), test::some_words));
  }
}

TEST_CASE("status: only the jobs of a quota and those below it, a user, an account or a state") {
  const auto left = [](const job_filter& f) {
    snapshot s = test::sample("lab");
    s.jobs[1].user = "ana";
    s.jobs[2].account = "bio";
    keep_only(s, f);
    std::string ids;
    for (const auto& j : s.jobs) ids += j.id + ' ';
    return ids;
  };
  CHECK(left({}) == "100 101 102 103 104 105 ");
  // 100 is of lab/a, 102 of lab and 104 of lab/b; the others have no quota.
  CHECK(left({.quota = "lab"}) == "100 102 104 ");
  CHECK(left({.quota = "lab/b"}) == "104 ");
  CHECK(left({.user = "ana"}) == "101 ");
  CHECK(left({.account = "bio"}) == "102 ");
  CHECK(left({.state = "released"}) == "103 ");
  CHECK(left({.user = "ana", .state = "released"}).empty());
}

TEST_CASE("status: what is released is not said to run, and the host's reason is there") {
  const in_utc utc;
  snapshot s = test::sample("lab");
  s.jobs[3].since = s.now - 30'000;
  s.jobs[3].host_reason = "Resources";
  const std::string text = status_text(s);
  CHECK(contains(text, "released 30 s ago\n      Acme does not start it: Resources\n"));
}

TEST_CASE("status: all that is known of one job") {
  const in_utc utc;
  snapshot s = test::sample("lab");
  s.jobs[3].since = s.now - 30'000;
  s.jobs[3].host_reason = "Resources";
  s.jobs[3].comment = "allot: admitted on n1:8";
  const std::string text = why_text(s, "103");
  CHECK(contains(text, "job          103, lab\n"));
  CHECK(contains(text, "state        released for 30 s\n"));
  CHECK(contains(text, "Acme says    Resources\n"));
  CHECK(contains(text, "nodes        n1, n2\n"));
  CHECK(contains(text, "Remark       allot: admitted on n1:8\n"));
  CHECK(why_text(s, "999").empty());
  for (const std::string& name : test::hostile_names()) {
    const std::string hostile = why_text(test::sample(name), "100");
    CHECK(std::count(hostile.begin(), hostile.end(), '\n') < 20);
    CHECK_FALSE(contains(hostile, "\x1b"));
  }
}
