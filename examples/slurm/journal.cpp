// SPDX-License-Identifier: BSL-1.0
#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <boost/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace allot_slurm {

namespace json = boost::json;

namespace {

constexpr std::string_view format = "allot-slurm-journal/1";
constexpr std::int64_t oldest_ms = 24 * 3600 * std::int64_t{1000};

[[nodiscard]] std::string checksum(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string digits;
  for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[h >> static_cast<unsigned>(i) & 15U];
  return digits;
}

[[nodiscard]] json::object of(const job_identity& j) {
  return {{"job", to_string(j.key)}, {"submitted", j.submitted}};
}
[[nodiscard]] job_identity identity(const json::object& o) {
  const auto key = parse_job_key(json::value_to<std::string>(o.at("job")));
  if (!key) throw std::invalid_argument{"a job without an id"};
  return {*key, o.at("submitted").to_number<std::int64_t>()};
}
[[nodiscard]] json::array keys(const std::vector<job_key>& all) {
  json::array a;
  for (const job_key& k : all) a.emplace_back(to_string(k));
  return a;
}

[[nodiscard]] memory read(const json::object& o) {
  memory m;
  for (const auto& v : o.at("leaving").as_array()) {
    m.leaving.push_back({identity(v.as_object()), v.at("warned").to_number<std::int64_t>()});
  }
  for (const auto& v : o.at("reserved").as_array()) {
    auto& r = m.nominated.emplace_back();
    r.job = identity(v.as_object());
    for (const auto& k : v.at("victims").as_array()) {
      if (const auto key = parse_job_key(json::value_to<std::string>(k))) r.victims.push_back(*key);
    }
    for (const auto& s : v.at("where").as_array()) {
      r.where.push_back({json::value_to<std::string>(s.at(0)), s.at(1).to_number<std::uint32_t>(),
                         s.at(2).to_number<std::uint32_t>()});
    }
  }
  for (const auto& v : o.at("announced").as_array()) m.announced.push_back(identity(v.as_object()));
  for (const auto& v : o.at("promised").as_array()) {
    auto& p = m.reservations.emplace_back();
    p.job = identity(v.as_object());
    p.what.start = v.at("start").to_number<std::int64_t>();
    p.what.first_start = v.at("first_start").to_number<std::int64_t>();
    p.what.borrows = v.at("borrows").as_bool();
    const auto cause = v.at("cause").to_number<std::uint8_t>();
    if (cause > static_cast<std::uint8_t>(allot::delay_cause::placement)) throw std::out_of_range{"a cause"};
    p.what.cause = static_cast<allot::delay_cause>(cause);
    if (const auto* since = v.as_object().if_contains("gathers_since")) {
      p.what.gathers_since = since->to_number<std::int64_t>();
    }
  }
  // Not there in journals of earlier versions.
  if (const auto* all = o.if_contains("reclaimed")) {
    for (const auto& v : all->as_array()) {
      m.reclaimed.push_back({json::value_to<std::string>(v.at("account")),
                             json::value_to<std::string>(v.at("resource")),
                             v.at("until").to_number<std::int64_t>(), v.at("since").to_number<std::int64_t>(),
                             v.at("times").to_number<std::uint32_t>()});
    }
  }
  for (const auto& v : o.at("backoffs").as_array()) {
    m.backoffs.push_back({identity(v.as_object()), v.at("until").to_number<std::int64_t>(),
                          v.at("failures").to_number<std::uint32_t>()});
  }
  for (const auto& v : o.at("past_usage").as_array()) m.past_usage.push_back(v.to_number<std::uint64_t>());
  return m;
}

}  // namespace

std::string journal_text(const memory& m, const std::string& cluster, std::int64_t now) {
  json::object o{{"format", format}, {"cluster", cluster}, {"written", now}};
  json::array& leaving = o["leaving"].emplace_array();
  for (const auto& l : m.leaving) {
    json::object v = of(l.job);
    v["warned"] = l.warned;
    leaving.push_back(std::move(v));
  }
  json::array& nominated = o["reserved"].emplace_array();
  for (const auto& r : m.nominated) {
    json::object v = of(r.job);
    v["victims"] = keys(r.victims);
    json::array where;
    for (const node_share& s : r.where) where.push_back({s.node, s.gpus, s.cpus});
    v["where"] = std::move(where);
    nominated.push_back(std::move(v));
  }
  json::array& announced = o["announced"].emplace_array();
  for (const auto& a : m.announced) announced.push_back(of(a));
  json::array& reservations = o["promised"].emplace_array();
  for (const auto& p : m.reservations) {
    json::object v = of(p.job);
    v["start"] = p.what.start;
    v["first_start"] = p.what.first_start;
    v["borrows"] = p.what.borrows;
    v["cause"] = static_cast<int>(p.what.cause);
    if (p.what.gathers_since) v["gathers_since"] = *p.what.gathers_since;
    reservations.push_back(std::move(v));
  }
  json::array& backoffs = o["backoffs"].emplace_array();
  for (const auto& b : m.backoffs) {
    json::object v = of(b.job);
    v["until"] = b.until;
    v["failures"] = b.failures;
    backoffs.push_back(std::move(v));
  }
  json::array& reclaimed = o["reclaimed"].emplace_array();
  for (const auto& r : m.reclaimed) {
    reclaimed.push_back({{"account", r.account},
                         {"resource", r.resource},
                         {"until", r.until},
                         {"since", r.since},
                         {"times", r.times}});
  }
  json::array& usage = o["past_usage"].emplace_array();
  for (const std::uint64_t n : m.past_usage) usage.emplace_back(n);
  const std::string line = json::serialize(o);
  return line + '\n' + checksum(line) + '\n';
}

journal_reading parse_journal(const std::string& text, const std::string& cluster, std::int64_t now) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.substr(end + 1) != checksum(text.substr(0, end)) + '\n') {
    return {std::nullopt, "it is damaged"};
  }
  try {
    const json::value v = json::parse(text.substr(0, end));
    const json::object& o = v.as_object();
    if (o.at("format").as_string() != format) return {std::nullopt, "it is of another version"};
    if (o.at("cluster").as_string() != cluster) {
      return {std::nullopt, "it is of the cluster " + json::value_to<std::string>(o.at("cluster"))};
    }
    const auto written = o.at("written").to_number<std::int64_t>();
    if (now - written > oldest_ms) return {std::nullopt, "it is more than a day old"};
    if (written - now > oldest_ms) return {std::nullopt, "it is from the future"};
    return {read(o), {}};
  } catch (const std::exception& e) {
    return {std::nullopt, std::string{"it can't be read: "} + e.what()};
  }
}

std::string replace_file(const std::string& path, const std::string& text, bool synchronize) {
  const std::string beside = path + ".new";
  const auto failed = [&](const char* what) {
    const int error = errno;
    ::unlink(beside.c_str());
    return std::string{what} + ' ' + beside + ": " + std::strerror(error);
  };
  // A name that somebody else has put there is not followed.
  ::unlink(beside.c_str());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return failed("can't create");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      std::string why = failed("can't write");
      ::close(file);
      return why;
    }
    done += static_cast<std::size_t>(n);
  }
  if (synchronize && ::fsync(file) != 0) {
    std::string why = failed("can't synchronize");
    ::close(file);
    return why;
  }
  if (::close(file) != 0) return failed("can't close");
  if (::rename(beside.c_str(), path.c_str()) != 0) return failed("can't rename");
  if (!synchronize) return {};
  // The rename itself is on disk when the directory is.
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int at = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at >= 0) {
    static_cast<void>(::fsync(at));
    ::close(at);
  }
  return {};
}

}  // namespace allot_slurm
