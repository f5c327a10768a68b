// SPDX-License-Identifier: BSL-1.0
#include "config.hpp"

#include "governor/src/config_text.hpp"
#include "words.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace allot_slurm {

using allot_governor::changes_between;

namespace json = boost::json;

namespace {

constexpr std::array<std::pair<std::string_view, int>, 6> signals{{{"TERM", SIGTERM},
                                                                   {"INT", SIGINT},
                                                                   {"HUP", SIGHUP},
                                                                   {"USR1", SIGUSR1},
                                                                   {"USR2", SIGUSR2},
                                                                   {"CONT", SIGCONT}}};

/// Reads the members of "slurm", and reports what is wrong with them.
class options_reader {
 public:
  options_reader(const json::object& from, std::string file, std::vector<std::string>& problems)
      : from_(from), file_(std::move(file)), problems_(problems) {}

  [[nodiscard]] slurm_options read() {
    slurm_options o;
    if (const auto* v = find("partitions")) {
      o.partitions.clear();
      if (const auto* list = v->if_array()) {
        for (const auto& name : *list) {
          if (const auto* s = name.if_string(); s != nullptr && !s->empty()) {
            o.partitions.emplace_back(*s);
          } else {
            o.partitions.clear();
            break;
          }
        }
      }
      if (o.partitions.empty()) report("partitions", "expected the names of partitions, as in [\"main\"]");
    }
    if (const auto* v = find("nodes")) {
      const auto* s = v->if_string();
      if (s != nullptr && (*s == "allot" || *s == "slurm")) {
        o.places_jobs = *s == "allot";
      } else {
        report("nodes", "expected \"allot\" or \"slurm\", who chooses the nodes");
      }
    }
    time("poll_s", 0.05, 3600, o.poll_ms);
    time("grace_s", 0, 86'400, o.grace_ms);
    time("start_s", 1, 86'400, o.start_ms);
    if (const auto* v = find("signal")) {
      const auto* s = v->if_string();
      const auto at = std::find_if(signals.begin(), signals.end(), [&](const auto& known) {
        return s != nullptr && std::string_view{*s} == known.first;
      });
      if (at == signals.end()) {
        report("signal", "expected \"TERM\", \"INT\", \"HUP\", \"USR1\", \"USR2\" or \"CONT\"");
      } else {
        o.signal = at->second;
      }
    }
    text("directory", o.directory);
    if (o.directory.empty()) report("directory", "expected the path of a directory");
    text("page", o.page);
    text("metrics", o.metrics);
    text("events", o.events);
    if (const auto* v = find("accounts")) {
      const auto* map = v->if_object();
      if (map == nullptr) report("accounts", "expected quotas by account, as in {\"bio\": \"team-a\"}");
      for (const auto& [account, quota] : map != nullptr ? *map : json::object{}) {
        if (const auto* s = quota.if_string()) {
          o.accounts.emplace(std::string{account}, std::string{*s});
        } else {
          report("accounts/" + std::string{account}, "expected the name of a quota");
        }
      }
    }
    if (const auto* v = find("qos")) {
      const auto* map = v->if_object();
      if (map == nullptr) report("qos", "expected priorities by QOS, as in {\"high\": 10}");
      for (const auto& [name, priority] : map != nullptr ? *map : json::object{}) {
        const auto* n = priority.if_int64();
        if (n != nullptr && -1'000'000 <= *n && *n <= 1'000'000) {
          o.qos.emplace(std::string{name}, static_cast<std::int32_t>(*n));
        } else {
          report("qos/" + std::string{name}, "expected a whole number from -1000000 to 1000000");
        }
      }
    }
    if (const auto* v = find("comments_per_tick")) {
      const auto* n = v->if_int64();
      if (n != nullptr && 0 <= *n && *n <= 10'000) {
        o.comments_per_tick = static_cast<std::size_t>(*n);
      } else {
        report("comments_per_tick", "expected a whole number from 0 to 10000");
      }
    }
    for (const auto& [key, value] : from_) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end() && key.substr(0, 2) != "x-") {
        report(std::string{key}, "there is no such key");
      }
    }
    return o;
  }

 private:
  [[nodiscard]] const json::value* find(std::string_view key) {
    known_.emplace_back(key);
    return from_.if_contains(key);
  }
  void text(std::string_view key, std::string& to) {
    const auto* v = find(key);
    if (v == nullptr) return;
    if (const auto* s = v->if_string()) {
      to = std::string{*s};
    } else {
      report(std::string{key}, "expected the path of a file");
    }
  }
  void time(std::string_view key, double least, double most, std::int64_t& to) {
    const auto* v = find(key);
    if (v == nullptr) return;
    json::error_code wrong;
    const double s = v->is_number() ? v->to_number<double>(wrong) : least - 1;
    if (wrong || !(least <= s && s <= most)) {
      std::ostringstream range;
      range << "expected seconds, from " << least << " to " << most;
      report(std::string{key}, range.str());
    } else {
      to = static_cast<std::int64_t>(s * 1000 + 0.5);
    }
  }
  void report(const std::string& place, const std::string& what) {
    problems_.push_back(file_ + ": /slurm/" + place + ": " + what);
  }

  const json::object& from_;
  std::string file_;
  std::vector<std::string>& problems_;
  std::vector<std::string> known_;
};

/// What of Slurm's a resource of this name counts.
[[nodiscard]] std::optional<config::dimension> dimension_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) {
    if (name.substr(slash + 1) != "gpu") return std::nullopt;
    return config::dimension{config::counted::gpus, std::string{name.substr(0, slash)}};
  }
  if (name == "gpu") return config::dimension{config::counted::gpus, {}};
  if (name == "cpu") return config::dimension{config::counted::cpus, {}};
  if (name == "memory_mib") return config::dimension{config::counted::memory_mib, {}};
  if (name == "node") return config::dimension{config::counted::nodes, {}};
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> config::quota_of(std::string_view account) const {
  if (const auto at = slurm.accounts.find(account); at != slurm.accounts.end()) {
    account = at->second;
  } else if (const std::size_t slash = account.rfind('/'); slash != std::string_view::npos) {
    account.remove_prefix(slash + 1);
  }
  for (std::size_t i = 0; i < quotas.quotas.size(); ++i) {
    if (quotas.quotas[i].spec.name == account) return i;
  }
  return std::nullopt;
}

bool config::governs(std::string_view of_job) const {
  while (!of_job.empty()) {
    const std::string_view one = of_job.substr(0, of_job.find(','));
    if (std::find(slurm.partitions.begin(), slurm.partitions.end(), one) != slurm.partitions.end())
      return true;
    of_job.remove_prefix(std::min(one.size() + 1, of_job.size()));
  }
  return false;
}

config_reading parse_config(std::string text, const std::string& file) {
  config_reading reading;
  auto quotas = allot::lab::parse_quotas_file(text, file, std::string{words.key});
  reading.problems = std::move(quotas.problems);
  slurm_options options;
  json::parse_options lenient;
  lenient.allow_comments = true;
  lenient.allow_trailing_commas = true;
  json::error_code wrong;
  const json::value all = json::parse(text, wrong, {}, lenient);
  // A syntax error has been reported with its place.
  if (!wrong && all.is_object()) {
    if (const auto* own = all.get_object().if_contains(words.key)) {
      if (const auto* members = own->if_object()) {
        options = options_reader{*members, file, reading.problems}.read();
      } else {
        reading.problems.push_back(file + ": /slurm: expected an object");
      }
    }
  }
  if (!quotas) return reading;
  config c{.quotas = std::move(*quotas.value), .slurm = std::move(options), .text = std::move(text)};
  for (std::size_t d = 0; d < c.quotas.resources.size(); ++d) {
    const auto counts = dimension_of(c.quotas.resources[d]);
    if (!counts) {
      reading.problems.push_back(
          file + ": /resources/" + std::to_string(d) + ": \"" + c.quotas.resources[d] +
          "\" is nothing that is read from Slurm (expected \"gpu\", \"TYPE/gpu\", \"cpu\", "
          "\"memory_mib\" or \"node\")");
      continue;
    }
    c.dimensions.push_back(*counts);
  }
  for (const auto& [account, quota] : c.slurm.accounts) {
    const auto is_it = [&, name = quota](const auto& q) { return q.spec.name == name; };
    if (std::any_of(c.quotas.quotas.begin(), c.quotas.quotas.end(), is_it)) continue;
    reading.problems.push_back(file + ": /slurm/accounts/" + account + ": there is no quota \"" + quota +
                               '"');
  }
  if (c.quotas.policy.preset() == nullptr) {
    reading.problems.push_back(file + ": /policy: expected a preset of the library");
  }
  if (reading.problems.empty()) reading.value.emplace(std::move(c));
  return reading;
}

std::string changes_between(const config& before, const config& after) {
  const std::string text = changes_between(before.quotas, after.quotas);
  if (!text.empty()) return text;
  return before.text == after.text ? "nothing" : "settings other than nominal amounts";
}

config_reading read_config(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in.is_open() || in.bad()) {
    config_reading reading;
    reading.problems.push_back(file + ": " + std::strerror(errno) + " (expected a configuration)");
    return reading;
  }
  return parse_config(std::move(text), file);
}

}  // namespace allot_slurm
