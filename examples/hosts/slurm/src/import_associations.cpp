// SPDX-License-Identifier: BSL-1.0
#include "import_associations.hpp"

#include "governor/src/log.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>

namespace allot_slurm {

using allot_governor::escaped;

namespace {

struct account {
  std::string name{};
  std::string parent{};
  std::optional<std::int64_t> gpus{};
  std::int64_t weight = 1;
  std::int64_t of_children = 0;
  bool has_children = false;
};

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    all.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

[[nodiscard]] std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, n);
  const bool is_one = error == std::errc{} && after == end && n >= 0 && n <= 1'000'000'000;
  return is_one ? std::optional{n} : std::nullopt;
}

[[nodiscard]] std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::string{text});
}

enum column : std::size_t {
  cluster_column,
  account_column,
  user_column,
  partition_column,
  parent_column,
  share_column,
  group_column,
  group_jobs_column,
  job_column,
  jobs_column,
  columns
};

class reader {
 public:
  [[nodiscard]] imported_quotas read(std::string_view text, std::string_view cluster) {
    std::set<std::string> clusters;
    for (const std::string& line : split(text, '\n')) {
      if (line.empty()) continue;
      const auto row = split(line, '|');
      if (row.size() != columns) {
        result_.problem =
            "expected the output of " + std::string{associations_command} + ", not \"" + line + '"';
        return std::move(result_);
      }
      if (!cluster.empty() && row[cluster_column] != cluster) continue;
      clusters.insert(row[cluster_column]);
      row[user_column].empty() ? take_account(row) : take_user(row);
    }
    if (clusters.size() > 1) {
      result_.problem = "several clusters: choose one with --cluster";
    } else if (accounts_.empty()) {
      result_.problem = "no account" + (cluster.empty() ? "" : " of the cluster " + std::string{cluster});
    } else {
      finish();
    }
    return std::move(result_);
  }

 private:
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  /// Limits that are not for quotas.
  void note_limits(const std::string& whose, const std::string& name, const std::string& value) {
    if (!value.empty()) note(whose + ": " + name + '=' + escaped(value) + " stays a limit of Slurm's");
  }

  void take_account(const std::vector<std::string>& row) {
    account& a = accounts_.emplace_back();
    a.name = row[account_column];
    a.parent = row[parent_column];
    const std::string whose = "account " + escaped(a.name);
    if (const auto n = number(row[share_column])) {
      a.weight = *n;
    } else if (!row[share_column].empty()) {
      note(whose + ": fairshare=" + escaped(row[share_column]) + " becomes the weight 1");
    }
    std::string rest;
    for (const std::string& one : split(row[group_column], ',')) {
      constexpr std::string_view gpu = "gres/gpu=";
      const auto n = one.starts_with(gpu) ? number(std::string_view{one}.substr(gpu.size())) : std::nullopt;
      if (n) {
        a.gpus = *n;
      } else if (!one.empty()) {
        rest.append(rest.empty() ? "" : ",").append(one);
      }
    }
    note_limits(whose, "GrpTRES", rest);
    note_limits(whose, "GrpJobs", row[group_jobs_column]);
    // Those of its users are copies of these.
    note_limits(whose, "MaxTRES", row[job_column]);
    note_limits(whose, "MaxJobs", row[jobs_column]);
  }

  void take_user(const std::vector<std::string>& row) {
    const std::string whose = "user " + escaped(row[user_column]) + " of " + escaped(row[account_column]) +
                              (row[partition_column].empty() ? "" : " in " + escaped(row[partition_column]));
    note_limits(whose, "GrpTRES", row[group_column]);
    note_limits(whose, "GrpJobs", row[group_jobs_column]);
    if (row[share_column] == "1" || row[share_column] == "parent" || row[share_column].empty()) return;
    note(whose + ": fairshare=" + escaped(row[share_column]) +
         " is not taken over: users share as they come");
  }

  void finish() {
    for (const account& a : accounts_) {
      const auto parent = std::find_if(accounts_.begin(), accounts_.end(), [&](const account& p) {
        return !a.parent.empty() && p.name == a.parent;
      });
      if (parent == accounts_.end()) continue;
      parent->has_children = true;
      parent->of_children += a.gpus.value_or(0);
    }
    std::string quotas;
    std::string accounts;
    bool is_limited = false;
    for (const account& a : accounts_) {
      const std::string whose = "account " + escaped(a.name);
      is_limited = is_limited || a.gpus;
      if (!a.has_children && !a.gpus) {
        note(whose + ": it has no GrpTRES=gres/gpu, so it owns nothing, and only borrows");
      }
      if (a.has_children && a.gpus && a.of_children > *a.gpus) {
        note(whose + ": those below it own " + std::to_string(a.of_children) + " GPUs, more than its " +
             std::to_string(*a.gpus));
      }
      quotas += std::string{quotas.empty() ? "" : ",\n"} + "    {\"name\": " + quoted(a.name);
      if (!a.parent.empty()) quotas += ", \"parent\": " + quoted(a.parent);
      if (a.gpus) quotas += ", \"nominal\": {\"gpu\": " + std::to_string(*a.gpus) + '}';
      if (a.has_children && a.gpus) quotas += ", \"inclusive\": true";
      if (a.weight != 1) quotas += ", \"weight\": " + std::to_string(a.weight);
      quotas += '}';
      accounts += (accounts.empty() ? "" : ", ") + quoted(a.name) + ": " + quoted(a.name);
    }
    if (is_limited) {
      note(
          "GrpTRES=gres/gpu stays a limit of Slurm's, too: nobody borrows beyond it until sacctmgr sets it "
          "to -1");
    }
    note("the partitions are not known: say in /slurm/partitions which are governed");
    result_.config =
        "{\n  \"resources\": [\"gpu\"],\n  \"policy\": {\"preset\": \"standard\", \"reservations\": 1},\n"
        "  \"quotas\": [\n" +
        quotas + "\n  ],\n  \"slurm\": {\n    \"partitions\": [\"main\"],\n    \"accounts\": {" + accounts +
        "}\n  }\n}\n";
  }

  imported_quotas result_{};
  std::vector<account> accounts_{};
};

}  // namespace

imported_quotas import_associations(std::string_view text, std::string_view cluster) {
  return reader{}.read(text, cluster);
}

}  // namespace allot_slurm
