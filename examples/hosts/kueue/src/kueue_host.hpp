// SPDX-License-Identifier: BSL-1.0
//
// A cluster whose Workloads Kueue makes and allot admits. ClusterQueues that carry the label and whose
// stopPolicy is Hold are governed: Kueue's own scheduler leaves them alone, and its controllers go on.
#pragma once

#include "api/api_server.hpp"
#include "api/backoff.hpp"
#include "api/events.hpp"
#include "api/objects.hpp"
#include "api/reflector.hpp"
#include "governor/src/host.hpp"
#include "topology.hpp"

#include "lab/import/kueue_cluster.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace allot_kueue {

struct kueue_host_options {
  /// Of ClusterQueues that are governed, with any value.
  std::string label{"allot.dev/governed"};
  /// The member "policy" of a scenario, as JSON; empty: as Kueue is configured, `kueue` or `kueue_fair`.
  std::string policy{};
  /// Kueue's configuration: see `allot::lab::kueue_options`.
  std::string quota_check_strategy{};
  /// The manager of what is written, and the component of Events.
  std::string name{"allot-kueue"};
  /// Which one of several.
  std::string instance{};
  std::uint64_t seed = 0;
  /// Whether it may write now: asked before writes, and while their answers are waited for.
  std::function<bool()> may_write = [] { return true; };
};

/// The type of the condition in which a Workload says why it waits.
inline constexpr std::string_view waiting_condition = "allot.dev/Waiting";

class kueue_host final : public allot_governor::host {
 public:
  kueue_host(api_server& server, kueue_host_options options);
  ~kueue_host() override;

  /// Takes what has come; never waits. To be called before a tick.
  void step(const moment& now);
  /// When there is something to do, on the steady clock, should nothing come.
  [[nodiscard]] instant due() const;
  /// Whether something has come that the next poll tells.
  [[nodiscard]] bool has_news() const noexcept {
    return !changed_.empty() || !gone_.empty() || is_reread_ || are_quotas_news_ || are_nodes_news_;
  }
  /// Whether all that there is has been read once.
  [[nodiscard]] bool is_synced() const;
  /// Why the cluster can't be read or can't be governed; empty if it can.
  [[nodiscard]] std::string problem() const;
  /// Reports everything again, to a new governor.
  void tell_all_again();
  /// What of the quotas is not carried over, or not as it is; and ClusterQueues that lend to or borrow from
  /// others of which some are governed and some are not.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The ClusterQueues that are governed.
  [[nodiscard]] const std::set<std::string, std::less<>>& served() const noexcept { return served_; }
  /// Calls that change something, since the beginning.
  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; }

  [[nodiscard]] allot_governor::outcome poll(allot_governor::changes& to) override;
  void carry_out(std::span<allot_governor::command> all) override;
  /// Sends what no decision waits for, a few at a time: why Workloads wait, and what follows from their
  /// state: an admitted one no longer waits, an evicted one without a controller holds nothing, and one that
  /// needs nothing any more is admitted. For after each `step`, by one that acts.
  void tidy();

 private:
  class configuration_handler;
  class node_handler;
  class pod_handler;
  class workload_handler;

  struct workload {
    boost::json::object object;
    std::string text;
    std::string version;
  };
  struct watched;
  /// What the quotas come from.
  struct described {
    std::string text;
    /// By which it is compared.
    std::string relevant;
  };

  void set_workload(boost::json::object object);
  void reread_configuration();
  void reread_topologies();
  void report_changed(allot_governor::changes& to);
  [[nodiscard]] std::vector<const reflector*> watches() const;
  [[nodiscard]] bool serves(std::string_view cluster_queue) const {
    return served_.count(cluster_queue) != 0;
  }
  void settle_doubts();
  [[nodiscard]] std::optional<allot_governor::job_report> report(const std::string& name);
  [[nodiscard]] bool stops(const allot_governor::job_report& j, allot::lab::kueue_standing standing);
  [[nodiscard]] boost::json::object waiting(bool is, std::string_view reason, std::string message,
                                            const boost::json::object& w) const;
  /// A write without a good answer.
  struct doubt {
    request sent;
    /// Of the Workload: as long as it has it, the write may be carried out.
    std::string version;
    /// The Workload is to be read before it is sent again.
    bool is_refused = false;
  };
  void take_answer(allot_governor::command& c, doubt d, const response& answer);
  [[nodiscard]] std::optional<request> request_for(const allot_governor::command& c, std::string& problem);
  [[nodiscard]] std::optional<request> admission(const workload& w, const std::string& queue,
                                                 const allot::flavor_pick& pick,
                                                 const allot::pods_by_set& pods,
                                                 const allot_governor::command* of = nullptr);
  [[nodiscard]] request eviction(const workload& w, std::string_view reason, const std::string& message,
                                 std::string_view how = {}) const;
  [[nodiscard]] std::optional<request> end_of_waiting(const workload& w, std::string_view reason,
                                                      std::string message) const;
  [[nodiscard]] std::optional<request> tidying(const workload& w);
  [[nodiscard]] std::optional<request> telling(const workload& w, const allot_governor::explanation& why);
  void take_asides();
  [[nodiscard]] std::vector<std::optional<response>> ask_all(std::vector<request> requests);
  void tell_event(const workload& w, std::string_view type, std::string_view reason,
                  std::string_view message);

  api_server& server_;
  kueue_host_options options_;
  std::vector<std::unique_ptr<watched>> on_configuration_;
  std::unique_ptr<watched> on_workloads_;
  event_writer events_;
  /// By kind, then name: the objects that the quotas come from.
  std::map<std::string, std::map<std::string, described>, std::less<>> configuration_;
  std::map<std::string, workload, std::less<>> workloads_;
  std::set<std::string, std::less<>> served_;
  std::optional<allot::lab::kueue_cluster> cluster_;
  topology topology_;
  /// Of Nodes and Pods, if a flavor that is governed has a topology.
  std::vector<std::unique_ptr<watched>> on_nodes_;
  std::vector<allot_governor::machine_report> told_machines_;
  /// Workloads as they held places; and of these who were evicted and have pods there still.
  std::map<std::string, allot_governor::job_report, std::less<>> held_;
  std::set<std::string> stopping_;
  std::string quotas_text_;
  bool is_reread_ = true;
  bool are_quotas_news_ = false;
  bool are_nodes_news_ = false;
  std::string problem_;
  std::vector<std::string> notes_;
  std::set<std::string> changed_;
  /// By Workload.
  std::map<std::string, doubt> in_doubt_;
  std::set<std::string> gone_;
  std::set<std::string> to_tidy_;
  /// Explanations that are not sent yet, by Workload: for those that still wait then.
  std::map<std::string, allot_governor::explanation> to_tell_;
  /// What `tidy` has sent, by Workload; after a failure it sends nothing before `asides_not_before_`.
  struct aside {
    ticket sent{};
    /// If it tells that, and what was told before.
    std::optional<allot_governor::explanation> why{};
    std::string reason_before{};
  };
  std::map<std::string, aside> asides_;
  backoff aside_backoff_;
  instant asides_not_before_ = 0;
  moment now_{};
  std::uint64_t writes_ = 0;
};

}  // namespace allot_kueue
