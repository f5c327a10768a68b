// SPDX-License-Identifier: BSL-1.0
// Reads what status.cpp writes for programs.
#include "governor/src/status.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace allot_governor {

namespace {

namespace json = boost::json;
using allot::quantity;

class reader {
 public:
  explicit reader(const host_words& words) { s_.words = words; }

  [[nodiscard]] snapshot read(const json::object& all) {
    s_.cluster = text(all, "cluster");
    s_.policy = text(all, "policy");
    s_.now = time(all, "now").value_or(0);
    s_.observes = flag(all, "observes");
    s_.is_away = !flag(all, std::string{s_.words.server_key} + "_answers");
    if (const json::value* const v = find(all, "frozen")) {
      const json::object& f = v->as_object();
      s_.frozen = {time(f, "since").value_or(0), time(f, "until"), text(f, "by"), text(f, "why")};
    }
    s_.refused_config = text(all, "refused_configuration");
    s_.resources = texts(all, "resources");
    for (const json::value& v : array(all, "quotas"))
      s_.quotas.emplace_back().name = text(v.as_object(), "name");
    std::size_t at = 0;
    for (const json::value& v : array(all, "quotas")) read_quota(v.as_object(), s_.quotas[at++]);
    const json::object& phases = all.at("phases").as_object();
    for (std::size_t p = 0; p < job_phase_names.size(); ++p) s_.phases[p] = count(phases, job_phase_names[p]);
    for (const json::value& v : array(all, "jobs")) read_job(v.as_object(), s_.jobs.emplace_back());
    for (const json::value& v : array(all, "nodes")) read_node(v.as_object(), s_.nodes.emplace_back());
    for (const json::value& v : array(all, "loans")) read_loan(v.as_object());
    for (const json::value& v : array(all, "reservations")) read_reservation(v.as_object());
    return std::move(s_);
  }

 private:
  // What is not there, or null, is empty: another version may have written it.
  [[nodiscard]] static const json::value* find(const json::object& o, std::string_view key) {
    const json::value* const v = o.if_contains(key);
    return v == nullptr || v->is_null() ? nullptr : v;
  }
  [[nodiscard]] static std::string text(const json::object& o, std::string_view key) {
    const json::value* const v = find(o, key);
    return v == nullptr ? std::string{} : std::string{v->as_string()};
  }
  [[nodiscard]] static bool flag(const json::object& o, std::string_view key) {
    const json::value* const v = find(o, key);
    return v != nullptr && v->as_bool();
  }
  [[nodiscard]] static std::optional<milliseconds> time(const json::object& o, std::string_view key) {
    const json::value* const v = find(o, key);
    return v == nullptr ? std::nullopt : std::optional{v->to_number<milliseconds>() * 1000};
  }
  [[nodiscard]] static std::size_t count(const json::object& o, std::string_view key) {
    const json::value* const v = find(o, key);
    return v == nullptr ? 0 : v->to_number<std::size_t>();
  }
  [[nodiscard]] static const json::array& array(const json::object& o, std::string_view key) {
    static const json::array none;
    const json::value* const v = find(o, key);
    return v == nullptr ? none : v->as_array();
  }
  [[nodiscard]] static std::vector<std::string> texts(const json::object& o, std::string_view key) {
    std::vector<std::string> all;
    for (const json::value& v : array(o, key)) all.emplace_back(v.as_string());
    return all;
  }
  [[nodiscard]] static quantity amount(const json::value& v) {
    if (v.is_string()) return v.as_string().starts_with('-') ? quantity::lowest() : quantity::unlimited();
    return quantity::milli(std::llround(v.to_number<double>() * 1000));
  }
  [[nodiscard]] amounts_row amounts(const json::object& o, std::string_view key) const {
    amounts_row row;
    for (const std::string& r : s_.resources) row.push_back(amount(o.at(key).as_object().at(r)));
    return row;
  }
  [[nodiscard]] std::optional<std::size_t> quota(const json::object& o, std::string_view key) const {
    const std::string name = text(o, key);
    const auto at =
        std::find_if(s_.quotas.begin(), s_.quotas.end(), [&](const auto& q) { return q.name == name; });
    if (find(o, key) == nullptr || at == s_.quotas.end()) return std::nullopt;
    return static_cast<std::size_t>(at - s_.quotas.begin());
  }

  void read_quota(const json::object& o, snapshot::quota& q) const {
    q.parent = quota(o, "parent");
    q.nominal = amounts(o, "nominal");
    q.entitled = amounts(o, "entitled");
    q.used = amounts(o, "used");
    q.borrowed = amounts(o, "borrowed");
    q.lent = amounts(o, "lent");
    q.requested = amounts(o, "requested");
    if (const json::value* const v = find(o, "share")) q.share = v->to_number<double>();
    q.running = count(o, "running");
    q.released = count(o, "released");
    q.waiting = count(o, "waiting");
  }
  void read_job(const json::object& o, snapshot::job& j) const {
    j.id = text(o, "id");
    j.name = text(o, "name");
    j.user = text(o, "user");
    j.account = text(o, "account");
    j.quota = quota(o, "quota");
    const auto phase = std::find(job_phase_names.begin(), job_phase_names.end(), text(o, "phase"));
    if (phase != job_phase_names.end()) j.phase = static_cast<job_phase>(phase - job_phase_names.begin());
    if (find(o, "request") != nullptr) j.request = amounts(o, "request");
    for (const json::value& v : array(o, "components")) {
      const json::object& c = v.as_object();
      j.components.push_back({count(c, "nodes"), amounts(c, "request")});
    }
    j.preemptible = flag(o, "preemptible");
    j.submitted = time(o, "submitted").value_or(0);
    j.started = time(o, "started").value_or(0);
    j.ends = time(o, "ends").value_or(0);
    j.nodes = texts(o, "nodes");
    j.reason = text(o, "reason");
    j.latest_start = time(o, "promised");
    j.beneficiary = text(o, "beneficiary");
    j.restarts = static_cast<std::uint32_t>(count(o, "restarts"));
    j.since = time(o, "since").value_or(j.submitted);
    if (find(o, "before") != nullptr) j.before = count(o, "before");
    j.comment = text(o, "comment");
    j.host_reason = text(o, std::string{s_.words.key} + "_reason");
  }
  void read_node(const json::object& o, snapshot::node& n) const {
    n.name = text(o, "name");
    n.state = text(o, "state");
    n.why = text(o, "why");
    n.gpus = count(o, "gpus");
    n.lost_gpus = count(o, "lost_gpus");
    for (const json::value& v : array(o, "used")) {
      const json::object& u = v.as_object();
      std::string job = text(u, "job");
      if (job.empty()) job = text(u, "ungoverned");
      n.used.push_back({std::move(job), quota(u, "quota"), count(u, "gpus")});
    }
  }
  void read_loan(const json::object& o) {
    const auto at = std::find(s_.resources.begin(), s_.resources.end(), text(o, "resource"));
    s_.loans.push_back({static_cast<std::size_t>(at - s_.resources.begin()),
                        quota(o, "lender").value_or(s_.quotas.size()),
                        quota(o, "borrower").value_or(s_.quotas.size()), amount(o.at("amount"))});
  }
  void read_reservation(const json::object& o) {
    snapshot::reservation& r = s_.reservations.emplace_back();
    r.job = text(o, "job");
    r.quota = quota(o, "quota").value_or(s_.quotas.size());
    r.waits_for = texts(o, "waits_for");
    r.start = time(o, "start");
    r.first_start = time(o, "first_start");
    r.cause = text(o, "cause");
  }

  snapshot s_{};
};

}  // namespace

std::optional<snapshot> read_status(std::string_view text, const host_words& words) {
  json::error_code wrong;
  const json::value all = json::parse(text, wrong);
  if (wrong || !all.is_object()) return std::nullopt;
  try {
    if (all.at("format").as_string() != status_format(words)) return std::nullopt;
    return reader{words}.read(all.as_object());
  } catch (const std::exception&) {
    // A member has another type.
    return std::nullopt;
  }
}

}  // namespace allot_governor
