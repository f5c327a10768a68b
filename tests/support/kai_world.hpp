// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/pod_counts.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot_test {

/// A cluster as in KAI's test tables, on an inventory or the places of a simulation, described line by line:
///
///     nodes 8 8               two nodes of 8 GPUs, called 0 and 1
///     level rack x y          with `kai_set_world`: the domains of both, from the coarsest level on
///     queue a root 4 1        deserves 4, weight 1; "-" for unlimited or no parent;
///                             then limit=N, prio=N
///     run j a 2x1 @0,1        two pods of one GPU on nodes 0 and 1
///     wait k a 4x0.5          then prio=N (50; from 100 on a job may not be preempted), min=N pods,
///                             keep or yield to override that, since=N
///     wait s a 1x1+2..4x2     with `kai_set_world`: unlike pods, one of one GPU and two to four of two; a
///                             set may be followed by !rack (required), ?rack (preferred) or ~2:rack (every
///                             two in one), a job by
///                             required=rack, preferred=rack. A running one names the nodes of its minimums,
///                             set by set, and then of further pods, each with its set: @0,0,1,1/1
///     gone l a 1x1 @0         already being evicted
///
/// The decisions of a step are printed as "-j" (j is evicted; "-j:1" one pod of it), "~k" (k is nominated),
/// "+k". Of unlike pods "-j/1" is a further one of set 1; and "+k@0,1" says where it starts.
template <class Places, class Policies = allot::kai_policies>
class basic_kai_world {
 public:
  struct job {
    std::string name;
    allot::quota_id quota;
    allot::quantity each;
    std::uint32_t pods = 1;
    std::uint32_t min_pods = 1;
    std::int64_t priority = 50;
    bool preemptible = true;
    allot::instant since = 0;
    std::uint64_t number = 0;
    std::vector<allot::gpu::pod_set> sets{};
    std::uint8_t required = allot::gpu::any_level;
    std::uint8_t preferred = allot::gpu::any_level;

    [[nodiscard]] allot::pods_by_set divided(std::uint32_t all) const {
      return allot::gpu::pod_set_list{sets.data(), static_cast<std::uint32_t>(sets.size())}.divide(all);
    }
  };
  struct view_type {
    using job = const basic_kai_world::job*;
    allot::resources<> has{};

    allot::quota_id quota(job j) const { return j->quota; }
    allot::resources<> request(job j) const { return request(j, j->pods); }
    allot::resources<> request(job j, std::uint32_t pods) const {
      if (j->sets.empty()) return j->each * pods;
      allot::resources<> sum;
      const auto of = j->divided(pods);
      for (std::size_t s = 0; s < j->sets.size(); ++s) sum += request(j, allot::pod_set_id{s}) * of[s];
      return sum;
    }
    std::int64_t priority(job j) const { return j->priority; }
    allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
    std::uint64_t id(job j) const { return j->number; }
    bool preemptible(job j) const { return j->preemptible; }
    std::uint32_t pods(job j) const { return j->pods; }
    std::uint32_t min_pods(job j) const { return j->min_pods; }
    allot::gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods); }
    allot::gpu::pod_request pod_request(job j, std::uint32_t pods) const {
      allot::gpu::pod_request r{.gpus = j->each, .pods = pods};
      r.required_level = j->required;
      r.preferred_level = j->preferred;
      r.sets = {j->sets.data(), pod_sets(j)};
      return r;
    }
    std::uint32_t pod_sets(job j) const { return static_cast<std::uint32_t>(j->sets.size()); }
    std::uint32_t pods(job j, allot::pod_set_id s) const { return j->sets[s.index()].pods; }
    std::uint32_t min_pods(job j, allot::pod_set_id s) const { return j->sets[s.index()].fewest(); }
    allot::resources<> request(job j, allot::pod_set_id s) const { return j->sets[s.index()].each.gpus; }
    allot::gpu::pod_request pod_request(job j, allot::pod_set_id s) const {
      allot::gpu::pod_request r = pod_request(j, 1);
      r.one_of = static_cast<std::uint8_t>(s.index());
      return r;
    }
    allot::resources<> capacity() const { return has; }
  };
  using policies_type = Policies;
  using scheduler_type = allot::scheduler<view_type, Places, Policies>;

  explicit basic_kai_world(const std::string& told, Policies policies = {}) {
    std::vector<allot::gpu::node_spec> nodes;
    std::vector<allot::quota_spec<>> queues;
    allot::quantity total;
    for_each_line(told, [&](const std::string& what, std::istringstream& rest) {
      if (what == "nodes") {
        for (std::int64_t gpus = 0; rest >> gpus;) {
          allot::gpu::node_spec n;
          n.name = std::to_string(nodes.size());
          n.gpus = gpus;
          nodes.push_back(n);
          total += allot::gpus(gpus);
        }
      } else if (what == "queue") {
        queues.push_back(queue(rest));
      } else if (what == "level") {
        rest >> levels_.emplace_back();
        for (allot::gpu::node_spec& n : nodes)
          rest >> n.labels.emplace_back(allot::gpu::label{levels_.back(), ""}).value;
      }
    });
    allot::runai{}.adapt(queues);
    scheduler_.emplace_back(view_type{allot::resources<>{total}}, allot::build_quota_tree(queues).value(),
                            places_of(allot::gpu::build_cluster(nodes).value()), policies);
    for_each_line(told, [&](const std::string& what, std::istringstream& rest) {
      if (what == "run" || what == "gone") run(rest, what == "gone");
    });
    tell(told);
  }

  /// Adds pending jobs.
  void tell(const std::string& told) {
    for_each_line(told, [&](const std::string& what, std::istringstream& rest) {
      if (what != "wait") return;
      const job& j = read_job(rest).of;
      ids_[j.name] = scheduler().submit(&j);
    });
  }

  [[nodiscard]] scheduler_type& scheduler() { return scheduler_.front(); }
  [[nodiscard]] allot::job_id id(const std::string& name) const { return ids_.at(name); }
  [[nodiscard]] allot::quota_id quota(const std::string& name) { return scheduler().tree().find(name); }
  void finished(const std::string& name) { scheduler().finished(id(name)); }
  /// Its host tells the running job to go: it stands where it is until it is let go.
  void leaves(const std::string& name) { leave(id(name)); }
  /// How many jobs have been told to go and are still there.
  [[nodiscard]] std::size_t leaving() const noexcept { return going_.size(); }

  /// Lets the next step decide although nothing has changed.
  void retry() { scheduler().retry(); }
  std::string step() { return step(++now_); }
  std::string step(allot::instant now) {
    now_ = now;
    const auto& plan = scheduler().step(now_);
    std::string line;
    const auto say = [&](char how, const job* j, std::uint32_t pods) {
      if (!line.empty()) line += ' ';
      line += how;
      line += j->name;
      if (pods < (j->sets.empty() ? j->pods : j->min_pods)) line += ":" + std::to_string(pods);
    };
    const auto say_one = [&](char how, const auto& of) {
      const bool is_of_set = of.core && !of.what->sets.empty();
      say(how, of.what, is_of_set ? of.what->pods : of.pods);
      if (is_of_set) line += "/" + std::to_string(scheduler().set_of(of.id).index());
    };
    for (const auto& e : plan.evictions) {
      say_one('-', e);
      going_.push_back(e.id);
    }
    for (const auto& r : plan.nominations) say('~', r.what, r.what->pods);
    for (const auto& a : plan.admissions) {
      say_one('+', a);
      if (a.what->sets.empty()) continue;
      char before = '@';
      scheduler().places().for_each_node(scheduler().place_of(a.id), [&](std::size_t node) {
        line += std::exchange(before, ',') + std::to_string(node);
      });
    }
    return line;
  }
  /// Releases the jobs that are being evicted.
  void let_go() {
    for (const allot::job_id id : std::exchange(going_, {})) {
      if (scheduler().state(id) == allot::job_state::evicting) scheduler().evicted(id);
    }
  }
  /// Runs steps until nothing is decided. Evicted jobs are released between steps.
  std::string settle(std::size_t most = 50) {
    std::string diary;
    for (std::size_t i = 0; i < most; ++i) {
      const std::string said = step();
      const bool quiet = said.empty() && going_.empty();
      if (quiet) return diary;
      diary += (diary.empty() || said.empty() ? "" : " | ") + said;
      let_go();
    }
    return diary + " ...";
  }
  [[nodiscard]] double used(const std::string& name) {
    return static_cast<double>(scheduler().assumed().total_usage(quota(name))[0].in_milli()) / 1000;
  }

 private:
  template <class Visit>
  static void for_each_line(const std::string& told, Visit visit) {
    std::istringstream all{told};
    for (std::string text; std::getline(all, text);) {
      std::istringstream rest{text};
      std::string what;
      if (rest >> what) visit(what, rest);
    }
  }
  static allot::quantity amount(const std::string& text) {
    if (text == "-") return allot::quantity::unlimited();
    return allot::quantity::milli(static_cast<std::int64_t>(std::stod(text) * 1000 + 0.5));
  }
  [[nodiscard]] Places places_of(allot::gpu::cluster all) const {
    if constexpr (std::is_same_v<Places, allot::gpu::topology_inventory>) {
      allot::gpu::topology near = allot::gpu::topology_from_labels(all, levels_).value();
      return Places{std::move(all), std::move(near)};
    } else {
      return Places{std::move(all)};
    }
  }
  [[nodiscard]] std::uint8_t level(const std::string& name) const {
    const auto at = std::find(levels_.begin(), levels_.end(), name);
    if (at == levels_.end()) throw std::logic_error{"no such level: " + name};
    return static_cast<std::uint8_t>(at - levels_.begin());
  }
  /// "2..4x1!rack"
  [[nodiscard]] allot::gpu::pod_set read_set(const std::string& told) const {
    allot::gpu::pod_set set;
    const std::size_t x = told.find('x');
    const std::size_t dots = told.substr(0, x).find("..");
    const std::size_t mark = std::min(told.find_first_of("!?~"), told.size());
    set.pods = set.min_pods = static_cast<std::uint32_t>(std::stoul(told));
    if (dots != std::string::npos) {
      set.pods = static_cast<std::uint32_t>(std::stoul(told.substr(dots + 2)));
    }
    set.each.gpus = amount(told.substr(x + 1, mark - x - 1));
    if (mark == told.size()) return set;
    const std::string limit = told.substr(mark + 1);
    if (told[mark] == '~') {
      set.slice = static_cast<std::uint32_t>(std::stoul(limit));
      set.slice_level = level(limit.substr(limit.find(':') + 1));
    } else {
      (told[mark] == '!' ? set.each.required_level : set.each.preferred_level) = level(limit);
    }
    return set;
  }
  static allot::quota_spec<> queue(std::istringstream& rest) {
    allot::quota_spec<> q;
    std::string parent;
    std::string deserved;
    double weight = 1;
    rest >> q.name >> parent >> deserved >> weight;
    if (parent != "-") q.parent = parent;
    q.nominal = amount(deserved);
    q.weight = allot::fair_weight::milli(static_cast<std::int64_t>(weight * 1000 + 0.5));
    for (std::string option; rest >> option;) {
      const std::string value = option.substr(option.find('=') + 1);
      if (option.starts_with("limit=")) q.borrow = allot::limit::at_most(amount(value) - q.nominal[0]);
      if (option.starts_with("prio=")) q.priority = std::stoi(value);
    }
    return q;
  }

  struct told_job {
    const job& of;
    std::vector<allot::gpu::pod_location> where{};
    /// By pod; none of those that start together.
    std::vector<std::optional<allot::pod_set_id>> sets{};
  };
  told_job read_job(std::istringstream& rest) {
    job j;
    std::string in;
    std::string size;
    rest >> j.name >> in >> size;
    j.quota = quota(in);
    if (!j.quota) throw std::logic_error{"no such queue: " + in};
    j.pods = j.min_pods = 0;
    std::istringstream told_sets{size};
    for (std::string set; std::getline(told_sets, set, '+');) {
      j.sets.push_back(read_set(set));
      j.pods += j.sets.back().pods;
      j.min_pods += j.sets.back().fewest();
    }
    if (j.sets.size() == 1 && j.sets[0].slice == 0) {
      j.each = j.sets[0].each.gpus;
      j.required = j.sets[0].each.required_level;
      j.preferred = j.sets[0].each.preferred_level;
      j.sets.clear();
    }
    j.number = jobs_.size() + 1;
    std::vector<allot::gpu::pod_location> where;
    std::vector<std::optional<allot::pod_set_id>> sets;
    bool said = false;
    for (std::string option; rest >> option;) {
      const std::string value = option.substr(option.find('=') + 1);
      if (option.starts_with("prio=")) j.priority = std::stoll(value);
      if (option.starts_with("min=")) j.min_pods = static_cast<std::uint32_t>(std::stoul(value));
      if (option.starts_with("since=")) j.since = std::stoll(value);
      if (option.starts_with("required=")) j.required = level(value);
      if (option.starts_with("preferred=")) j.preferred = level(value);
      if (option == "keep" || option == "yield") said = true, j.preemptible = option == "yield";
      if (option[0] == '@') {
        std::istringstream list{option.substr(1)};
        for (std::string node; std::getline(list, node, ',');) {
          const std::size_t slash = node.find('/');
          sets.emplace_back();
          if (slash != std::string::npos) sets.back().emplace(std::stoul(node.substr(slash + 1)));
          const std::size_t dot = node.find(':');
          const std::uint64_t device =
              dot == std::string::npos ? 0 : 1ULL << std::stoul(node.substr(dot + 1));
          where.push_back({allot::gpu::node_id{std::stoul(node)}, device});
        }
      }
    }
    if (!said) j.preemptible = j.priority < 100;
    jobs_.push_back(j);
    return {jobs_.back(), where, sets};
  }
  void run(std::istringstream& rest, bool gone) {
    const auto [j, where, sets] = read_job(rest);
    const std::size_t core = std::min<std::size_t>(j.min_pods, where.size());
    const auto at =
        scheduler().take_place(view_type{}.pod_request(&j, j.min_pods), std::span{where}.subspan(0, core));
    if (!at) throw std::logic_error{j.name + " does not fit there"};
    const allot::job_id id = scheduler().adopt(&j, j.since, *at);
    for (std::size_t i = core; i < where.size(); ++i) {
      const view_type view;
      const auto request = sets[i] ? view.pod_request(&j, *sets[i]) : view.pod_request(&j, 1);
      const auto one = scheduler().take_place(request, std::span{where}.subspan(i, 1));
      if (!one) throw std::logic_error{j.name + " does not fit there"};
      if (!scheduler().adopt_elastic_pod(id, j.since, *one, sets[i]))
        throw std::logic_error{j.name + " has no such pod"};
    }
    ids_[j.name] = id;
    if (gone) leave(id);
  }
  void leave(allot::job_id id) {
    scheduler().evicting(id);
    going_.push_back(id);
  }

  std::vector<std::string> levels_;
  std::deque<job> jobs_;
  std::deque<scheduler_type> scheduler_;
  std::map<std::string, allot::job_id> ids_;
  std::vector<allot::job_id> going_;
  allot::instant now_ = 0;
};
using kai_world = basic_kai_world<allot::gpu::inventory>;
/// With unlike pods, and levels.
using kai_set_world = basic_kai_world<allot::gpu::topology_inventory>;

}  // namespace allot_test
