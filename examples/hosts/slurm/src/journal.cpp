// SPDX-License-Identifier: BSL-1.0
#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <boost/json.hpp>

#include <allot/scheduler/state_text.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace allot_slurm {

namespace json = boost::json;

namespace {

constexpr std::string_view format = "allot-slurm-journal/2";
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
/// A job of the state by its id and its submission: "12_3@1700000000".
[[nodiscard]] std::string name_of(const job_identity& j) {
  return to_string(j.key) + '@' + std::to_string(j.submitted);
}
[[nodiscard]] std::optional<job_identity> identity_of(const std::string& name) {
  const std::size_t at = name.find('@');
  if (at == std::string::npos) return std::nullopt;
  const auto key = parse_job_key(name.substr(0, at));
  seconds submitted = 0;
  const char* const end = name.data() + name.size();
  const bool is_read = std::from_chars(name.data() + at + 1, end, submitted).ptr == end;
  return key && is_read ? std::optional{job_identity{*key, submitted}} : std::nullopt;
}

[[nodiscard]] memory read(const json::object& o) {
  memory m;
  for (const auto& v : o.at("leaving").as_array()) {
    m.leaving.push_back({identity(v.as_object()), v.at("warned").to_number<std::int64_t>()});
  }
  for (const auto& v : o.at("backoffs").as_array()) {
    auto& b = m.backoffs.emplace_back();
    b = {identity(v.as_object()), v.at("until").to_number<std::int64_t>(),
         v.at("failures").to_number<std::uint32_t>()};
    const json::object& all = v.as_object();
    if (const auto* had = all.if_contains("had_victims")) b.had_victims = had->as_bool();
    if (const auto* impossible = all.if_contains("impossible")) b.is_impossible = impossible->as_bool();
    if (const auto* spent = all.if_contains("spent")) b.is_spent = spent->as_bool();
    if (const auto* needs = all.if_contains("needs"))
      b.needs = static_cast<cure>(std::min<std::uint64_t>(needs->to_number<std::uint64_t>(), 2));
  }
  if (const auto* text = o.if_contains("state")) {
    auto state = allot::state_from_text<job_identity, std::vector<node_share>>(
        json::value_to<std::string>(*text), identity_of, parse_shares);
    if (!state) throw std::invalid_argument{state.problems().front().text};
    m.state = std::move(state).value();
  }
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
  json::array& backoffs = o["backoffs"].emplace_array();
  for (const auto& b : m.backoffs) {
    json::object v = of(b.job);
    v["until"] = b.until;
    v["failures"] = b.failures;
    v["had_victims"] = b.had_victims;
    v["spent"] = b.is_spent;
    v["impossible"] = b.is_impossible;
    v["needs"] = static_cast<std::uint64_t>(b.needs);
    backoffs.push_back(std::move(v));
  }
  if (m.state) o["state"] = to_text(*m.state, name_of, [](const auto& where) { return to_string(where); });
  const std::string line = json::serialize(o);
  return line + '\n' + checksum(line) + '\n';
}

bool decides_the_same(const memory& a, const memory& b) {
  if (a.leaving != b.leaving || a.backoffs != b.backoffs || a.state.has_value() != b.state.has_value())
    return false;
  if (!a.state) return true;
  const auto &x = a.state->memory, &y = b.state->memory;
  return x.leaving == y.leaving && x.nominated == y.nominated && x.reservations == y.reservations &&
         x.backoffs == y.backoffs && x.of_cycle.announced == y.of_cycle.announced;
}

journal_reading parse_journal(const std::string& text, const std::string& cluster, std::int64_t now) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.substr(end + 1) != checksum(text.substr(0, end)) + '\n') {
    return {std::nullopt, "it is damaged"};
  }
  try {
    const json::value v = json::parse(text.substr(0, end));
    const json::object& o = v.as_object();
    if (o.at("format").as_string() != format) {
      return {std::nullopt, "it is of another version (" + json::value_to<std::string>(o.at("format")) + ')'};
    }
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
