// SPDX-License-Identifier: BSL-1.0
// Finds the places of the jobs that are running when a scenario begins.
#include "lab/scenario/explain.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/flavors.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// How precisely the scenario says where a job runs.
enum class precision : std::uint8_t { devices, nodes, nothing };

[[nodiscard]] precision precision_of(const job_entry& e) {
  if (e.locations.empty()) return precision::nothing;
  const bool has_devices = std::any_of(e.locations.begin(), e.locations.end(),
                                       [](const gpu::pod_location& l) { return l.devices != 0; });
  return has_devices ? precision::devices : precision::nodes;
}

template <std::size_t N>
class running_placer {
 public:
  running_placer(const scenario& s, workload<N>& to, errors& found)
      : s_(s),
        to_(to),
        found_(found),
        used_(to.setup.quotas),
        view_{.jobs = to.setup.jobs, .flavor_sets = to.setup.flavor_sets, .unlike = to.setup.unlike} {
    sim::link_flavors<N>(to.setup.unlike, to.setup.flavor_sets);
  }

  void place_all() {
    for (const precision p : {precision::devices, precision::nodes, precision::nothing}) {
      for (sim::job_index j = 0; j < to_.setup.jobs.size(); ++j) {
        const auto entry = to_.origins[j].entry;
        if (!entry) continue;
        const job_entry& e = s_.jobs[*entry];
        if (e.phase != job_phase::pending && precision_of(e) == p)
          place(j, e, "/jobs/" + std::to_string(*entry));
      }
    }
    std::sort(to_.setup.running.begin(), to_.setup.running.end(),
              [](const auto& a, const auto& b) { return a.which < b.which; });
  }

 private:
  void place(sim::job_index j, const job_entry& e, const std::string& at) {
    const sim::job<N>& job = to_.setup.jobs[j];
    if (!used_.tree().contains(job.quota)) {
      found_.add(s_.file, at + "/quota", "a job can't run in a quota that an event adds later");
      return;
    }
    sim::running_job_at_start r{.which = j, .since = e.start, .is_going = e.phase == job_phase::evicting};
    // From then on its estimate counts.
    to_.setup.where.set_now(e.start);
    const flavor_menu<N> menu = view_.flavors(j, job.fewest_pods());
    std::optional<flavor_pick> first;
    bool has_place = false;
    flavor_pick pick{};
    do {
      if (!take_places(r, j, e, pick)) continue;
      if (used_.fits(job.quota, all_of(j, e, pick))) {
        has_place = true;
        break;
      }
      if (!first) first = pick;
      give_back(r);
    } while (advance(pick, menu));
    // A quota may exceed its limits when the scenario begins.
    if (!has_place && first) has_place = take_places(r, j, e, pick = *first);
    if (!has_place) return report(j, e, at);
    r.pick = pick;
    used_.charge(job.quota, all_of(j, e, pick));
    to_.setup.running.push_back(std::move(r));
  }

  [[nodiscard]] std::uint32_t pods_of(sim::job_index j, const job_entry& e) const {
    return to_.setup.jobs[j].pod_request.total ? 1 : e.running_pods;
  }
  [[nodiscard]] resources<N> all_of(sim::job_index j, const job_entry& e, const flavor_pick& pick) const {
    return view_.amount(j, pods_of(j, e), pick);
  }

  /// Whether the nodes have the chosen flavor. (Whether they are in the quota's pools was decided when the
  /// job was placed.)
  [[nodiscard]] bool are_of_flavor(sim::job_index j, std::span<const gpu::pod_location> at,
                                   const flavor_pick& pick) const {
    if (to_.setup.jobs[j].unlike != 0) return is_each_of_its_flavor(j, at, pick);
    const std::uint32_t number = to_.setup.jobs[j].flavors;
    if (number == 0 || to_.setup.flavor_sets[number - 1].pools.empty()) return true;
    const sim::flavor_set<N>& set = to_.setup.flavor_sets[number - 1];
    const std::uint64_t pools = set.pools[pick[set.placed_group]];
    return std::all_of(at.begin(), at.end(),
                       [&](const gpu::pod_location& l) { return s_.cluster->type_of(l.node).is_in(pools); });
  }

  [[nodiscard]] bool is_each_of_its_flavor(sim::job_index j, std::span<const gpu::pod_location> at,
                                           const flavor_pick& pick) const {
    const gpu::pod_request r = view_.pod_request(j, to_.setup.jobs[j].fewest_pods(), pick);
    const vector<std::size_t> sets = sets_of_pods(j, at.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const gpu::pod_set& set = r.sets[sets[i]];
      const bool chooses = set.group < r.options.size();
      if (chooses && !s_.cluster->type_of(at[i].node).is_in(set.pools.of(r.options[set.group]))) return false;
    }
    return true;
  }
  /// The sets of so many pods of a job whose pods differ: the minimums set by set, then the others as they
  /// come.
  [[nodiscard]] vector<std::size_t> sets_of_pods(sim::job_index j, std::size_t pods) const {
    const gpu::pod_set_list sets = view_.list_of(j);
    vector<std::size_t> all;
    pods_by_set has = sets.divide(std::min<std::size_t>(pods, view_.min_pods(j)));
    for (std::size_t s = 0; s < sets.size(); ++s) {
      for (std::uint32_t i = 0; i < has[s]; ++i) all.push_back(s);
    }
    while (all.size() < pods) {
      const std::size_t next = sets.next_after(has);
      if (next == sets.size()) break;
      ++has[next];
      all.push_back(next);
    }
    return all;
  }

  /// Takes places for the pods that the job needs together, and for the others one by one.
  [[nodiscard]] bool take_places(sim::running_job_at_start& r, sim::job_index j, const job_entry& e,
                                 const flavor_pick& pick) {
    sim::places& where = to_.setup.where;
    if (!where.has_nodes()) {
      r.elastic_pods.assign(pods_of(j, e) - to_.setup.jobs[j].fewest_pods(), {});
      return true;
    }
    r.elastic_pods.clear();
    const std::uint32_t core = to_.setup.jobs[j].fewest_pods();
    const std::span<const gpu::pod_location> at{e.locations};
    if (!are_of_flavor(j, at, pick)) return false;
    vector<std::size_t> sets;
    if (view_.pod_sets(j) > 1) sets = sets_of_pods(j, pods_of(j, e));
    const auto take = [&](std::uint32_t first, std::uint32_t count) {
      gpu::pod_request pod_request = view_.pod_request(j, count, pick);
      if (first > 0) {
        if (!sets.empty()) pod_request = view_.pod_request(j, pod_set_id{sets[first]}, pick);
        pod_request = pod_request.beside(r.where);
      }
      if (at.empty()) return where.place(pod_request);
      return where.inventory().place_at(pod_request, pod_request.total ? at : at.subspan(first, count));
    };
    const auto of_core = take(0, core);
    if (!of_core) return false;
    r.where = *of_core;
    for (std::uint32_t pod = core; pod < pods_of(j, e); ++pod) {
      const auto of_pod = take(pod, 1);
      if (!of_pod) {
        give_back(r);
        return false;
      }
      r.elastic_pods.push_back(*of_pod);
    }
    return true;
  }
  void give_back(sim::running_job_at_start& r) {
    sim::places& where = to_.setup.where;
    if (!where.has_nodes()) return;
    for (std::size_t i = r.elastic_pods.size(); i-- > 0;) where.release(r.elastic_pods[i]);
    where.release(r.where);
    r.elastic_pods.clear();
  }

  void report(sim::job_index j, const job_entry& e, const std::string& at) {
    const precision p = precision_of(e);
    if (p == precision::nothing) {
      const gpu::pod_request pod_request = view_.pod_request(j, pods_of(j, e), {});
      found_.add(s_.file, at,
                 "the running job has no place: " + explain(to_.setup.where.why_not(pod_request),
                                                            to_.setup.where, to_.sets_of(to_.setup.jobs[j])));
      return;
    }
    found_.add(s_.file, at + (p == precision::devices ? "/devices" : "/nodes"),
               "the running job does not fit there (expected GPUs that no other job has)");
  }

  const scenario& s_;
  workload<N>& to_;
  errors& found_;
  ledger<N> used_;
  sim::workload_view<N> view_;
};

}  // namespace

template <std::size_t N>
void place_running(const scenario& s, workload<N>& to, errors& found) {
  running_placer<N>{s, to, found}.place_all();
}
template void place_running<1>(const scenario&, workload<1>&, errors&);
template void place_running<max_resources>(const scenario&, workload<max_resources>&, errors&);

void check_running(const scenario& s, errors& found) {
  const auto runs = [](const job_entry& e) { return e.phase != job_phase::pending; };
  if (std::none_of(s.jobs.begin(), s.jobs.end(), runs)) return;
  workload<max_resources> w = make_workload<max_resources>(s);
  place_running(s, w, found);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
