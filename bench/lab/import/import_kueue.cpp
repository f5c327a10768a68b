// SPDX-License-Identifier: BSL-1.0
// Converts Kueue's objects to a scenario: ClusterQueues and Cohorts become its quotas, Workloads its jobs.
#include "lab/import/kueue_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

class kueue_importer {
 public:
  kueue_importer(json_value root, errors& found, import_log& log, const import_options& options)
      : found_(found),
        log_(log),
        options_(options),
        reader_(read_objects(root, found), {.quota_check_strategy = options.quota_check_strategy}, found,
                log) {}

  [[nodiscard]] std::string run() {
    reader_.read_configuration();
    if (reader_.queues().all().empty() && found_.empty()) {
      found_.add(
          shown_path(options_.file), {},
          "there is no ClusterQueue (expected the output of: kubectl get clusterqueues,cohorts,workloads -A "
          "-o json)");
    }
    if (!found_.empty()) return {};
    read_workloads();
    if (!found_.empty()) return {};
    choose_resources();
    return write();
  }

 private:
  void read_workloads() {
    vector<kueue_entry> read;
    std::size_t finished = 0;
    for (const kubernetes_object& o : reader_.all("Workload")) {
      const auto condition = find_condition(o.value, "Finished", found_);
      if (condition && condition->is_true) {
        ++finished;
        continue;
      }
      kueue_entry w = reader_.read(o);
      now_ = std::max(now_, w.of.latest);
      read.push_back(std::move(w));
    }
    if (finished > 0)
      log_.note("Workload", counted(finished, "that is finished is", "that are finished are") + " left out");
    if (!found_.empty()) return;
    for (kueue_entry& w : read) {
      if (const std::string why = reader_.find_place(w, now_).why; !why.empty()) {
        log_.note(w.of.object->shown(), "left out: " + why);
      } else {
        workloads_.push_back(std::move(w));
      }
    }
  }

  void choose_resources() {
    resource_names& names = reader_.names();
    constexpr std::string_view inadmissible = kueue_reader::inadmissible;
    bool any_inadmissible = false;
    for (const kueue_entry& w : workloads_) {
      any_inadmissible = any_inadmissible || !w.of.is_inadmissible.empty();
      for (const kueue_pod_set& s : w.of.pod_sets) {
        for (const auto& [resource, amount] : s.request) names.add_request(resource, amount, s.pods);
        for (const auto& [resource, a] : s.assigned) names.add_request(resource, a.amount, 1);
      }
    }
    names.choose(log_);
    if (any_inadmissible && !names.dimensions().empty()) names.add_plain(std::string{inadmissible});
    for (const kueue_entry& w : workloads_) {
      if (w.of.is_inadmissible.empty()) continue;
      const bool is_left_out = !names.counts(inadmissible);
      log_.note(
          w.of.object->shown(),
          (is_left_out ? "left out: Kueue does not admit it: " : "is not admitted: ") + w.of.is_inadmissible);
      if (is_left_out && text_at(w.in->object->value, {"spec", "queueingStrategy"}, found_) == "StrictFIFO") {
        log_.note(w.of.object->shown(),
                  "there it is in the way of those behind it, as its ClusterQueue is strict");
      }
    }
    if (!names.counts(inadmissible)) {
      erase_if(workloads_, [](const kueue_entry& w) { return !w.of.is_inadmissible.empty(); });
    }
    if (names.dimensions().empty()) {
      found_.add(shown_path(options_.file), {},
                 "no ClusterQueue counts any resource (expected spec.resourceGroups)");
    }
  }

  [[nodiscard]] std::string write() {
    if (!found_.empty()) return {};
    json_writer json{2};
    json.begin_object();
    reader_.write_configuration({}, json);
    find_times();
    /// Workloads that are not there any more once they have gone.
    vector<std::string> gone;
    json.key("jobs").begin_array();
    for (const kueue_entry& w : workloads_) {
      reader_.write_workload(w, first_, now_, json);
      if (w.of.holds_quota() && !kueue_reader::comes_back(w.of)) gone.push_back(w.of.object->name);
    }
    json.end_array();
    if (!gone.empty()) {
      json.key("events").begin_array();
      for (const std::string& id : gone) {
        json.begin_object().key("at_s").raw(milli_text(now_ - first_));
        json.key("cancel").begin_object().member("job", id).end_object().end_object();
      }
      json.end_array();
    }
    json.end_object();
    return json.text();
  }

  /// The first and the last point in time in the workloads. Times count from the first; the last is taken as
  /// the time when the file was made.
  void find_times() {
    if (workloads_.empty()) return;
    first_ = now_;
    for (const kueue_entry& w : workloads_)
      first_ = std::min({first_, w.of.created, w.of.queued, w.of.started});
    log_.note(
        {},
        "times count from the oldest workload; how long workloads will run is not known: from now on each "
        "runs for an hour, unless it has a maximumExecutionTimeSeconds");
    const bool any_choice = std::any_of(workloads_.begin(), workloads_.end(), [&](const kueue_entry& w) {
      return w.of.holds_quota() &&
             std::any_of(w.in->groups.begin(), w.in->groups.end(),
                         [](const kueue_resource_group& g) { return g.flavors.size() > 1; });
    });
    if (any_choice)
      log_.note({}, "workloads that run keep their flavors, also when they are evicted and start again");
  }

  errors& found_;
  import_log& log_;
  const import_options& options_;
  kueue_reader reader_;
  vector<kueue_entry> workloads_;
  instant first_ = 0;
  instant now_ = 0;
};

}  // namespace

std::string make_kueue_scenario(json_value root, errors& found, import_log& log,
                                const import_options& options) {
  return kueue_importer{root, found, log, options}.run();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
