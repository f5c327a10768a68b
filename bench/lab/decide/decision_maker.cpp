// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/decision_maker.hpp"

#include "lab/io/time_text.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <algorithm>
#include <iterator>

namespace allot {
inline namespace v0 {
namespace lab {

decision_maker::decision_maker(std::unique_ptr<scenario_host<n>> host)
    : scenario_(host->file), host_(std::move(host)), before_(accounts()) {
  for (const refused_job& r : jobs_.refused) made_.refuse.push_back({r.id, r.quota, "access", r.text});
  for (auto& r : host_->rejected) {
    made_.refuse.push_back({ids()[r.job], job(r.job).quota, std::move(r.reason), std::move(r.text)});
  }
}

void decision_maker::run(std::size_t rounds) {
  planned_.reset();
  for (std::size_t round = 1; round <= rounds; ++round) {
    const plan_type& plan = scheduler_.step(now_++);
    if (!plan.empty()) made_.rounds = round;
    record(plan);
    const bool quiet = is_quiet(plan);
    if (quiet && going_.empty()) break;
    if (round < rounds) let_go();
  }
}

/// A cycle that goes from head to head may decide nothing and still continue with other heads the next time.
bool decision_maker::is_quiet(const plan_type& plan) {
  vector<job_id> held;
  for (const auto& h : plan.pending) held.push_back(h.id);
  const bool is_news = !plan.empty() || (!held.empty() && (!had_plan_ || held != held_last_));
  held_last_ = std::move(held);
  had_plan_ = true;
  return !is_news;
}

// The cycles.

namespace {

/// More pods of the same job.
void add(vector<pods_of_set>& to, vector<pods_of_set> more) {
  for (std::size_t s = 0; s < more.size(); ++s) {
    to[s].pods += more[s].pods;
    to[s].nodes.append(more[s].nodes.begin(), more[s].nodes.end());
  }
}

/// Those of resources that every set which has them has in the same flavor.
[[nodiscard]] vector<flavor_name> common_flavors(const vector<pods_of_set>& sets) {
  vector<flavor_name> all;
  const auto is_of = [](std::string_view resource) {
    return [resource](const flavor_name& f) { return f.resource == resource; };
  };
  for (const pods_of_set& s : sets) {
    for (const flavor_name& f : s.flavors) {
      if (std::any_of(all.begin(), all.end(), is_of(f.resource))) continue;
      const bool is_common = std::all_of(sets.begin(), sets.end(), [&](const pods_of_set& other) {
        const auto its = std::find_if(other.flavors.begin(), other.flavors.end(), is_of(f.resource));
        return its == other.flavors.end() || its->flavor == f.flavor;
      });
      if (is_common) all.push_back(f);
    }
  }
  return all;
}

}  // namespace

void decision_maker::record(const plan_type& plan) {
  const std::size_t first_eviction = made_.evict.size();
  for (const auto& e : plan.evictions) {
    const job_index j = e.what;
    const std::string_view beneficiary =
        e.beneficiary ? jobs_.ids[scheduler_.what(e.beneficiary)] : std::string_view{};
    const std::string_view reason = to_string(e.how);
    const std::uint64_t pods = pods_at(j, scheduler_.place_of(e.id), e.pods);
    const auto same = std::find_if(made_.evict.begin() + static_cast<std::ptrdiff_t>(first_eviction),
                                   made_.evict.end(), [&](const decision::eviction& row) {
                                     return row.id == jobs_.ids[j] && row.beneficiary == beneficiary &&
                                            row.reason == reason;
                                   });
    if (same != made_.evict.end()) {
      same->pods += pods;
      add(same->pod_sets, sets_of(e.id, e.pods, {}));
    } else {
      made_.evict.push_back(
          {jobs_.ids[j], job(j).quota, pods, beneficiary, reason, e.why, sets_of(e.id, e.pods, {})});
    }
  }
  // With an elastic job all its pods are evicted, whether or not the plan names each of them.
  for (const auto& e : plan.evictions) {
    if (!e.core) {
      for (const job_id s : scheduler_.elastic_pods_of(e.id)) {
        const bool is_told = scheduler_.state(s) == job_state::evicting;
        if (is_told && std::find(going_.begin(), going_.end(), s) == going_.end()) going_.push_back(s);
      }
    }
    if (std::find(going_.begin(), going_.end(), e.id) == going_.end()) going_.push_back(e.id);
  }
  awaiting_.clear();
  for (const auto& r : plan.nominations) {
    decision::reservation reserved{jobs_.ids[r.what], job(r.what).quota};
    const auto wait_for = [&](std::string_view id) {
      auto& all = reserved.waits_for;
      if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
    };
    for (std::size_t i = r.first; i < r.first + r.count; ++i) wait_for(jobs_.ids[plan.evictions[i].what]);
    for (std::size_t i = 0; r.count == 0 && i < going_.size(); ++i) {
      wait_for(jobs_.ids[scheduler_.what(going_[i])]);
    }
    made_.reserve.push_back(std::move(reserved));
    awaiting_.push_back(r.what);
  }
  const std::size_t first_admission = made_.admit.size();
  for (const auto& a : plan.admissions) {
    const job_index j = a.what;
    const auto same =
        std::find_if(made_.admit.begin() + static_cast<std::ptrdiff_t>(first_admission), made_.admit.end(),
                     [&](const decision::admission& row) { return a.core && row.id == jobs_.ids[j]; });
    const std::uint64_t pods = pods_at(j, a.where, a.pods);
    const auto nodes = nodes_of(a.where);
    if (same != made_.admit.end()) {
      same->pods += pods;
      same->nodes.append(nodes.begin(), nodes.end());
      same->borrows += a.borrows;
      add(same->pod_sets, sets_of(a.id, a.pods, a.pick));
    } else {
      made_.admit.push_back({jobs_.ids[j], job(j).quota, pods, nodes, flavors_of(j, a.pick), a.borrows,
                             sets_of(a.id, a.pods, a.pick)});
    }
  }
}

/// Ends all jobs being evicted. Elastic pods end before their job, which would take them along.
void decision_maker::let_go() {
  const vector<job_id> going = std::exchange(going_, {});
  for (const bool cores : {false, true}) {
    for (const job_id id : going) {
      const bool is_core = ids_[scheduler_.what(id)] == id;
      if (is_core == cores && scheduler_.state(id) == job_state::evicting) scheduler_.evicted(id);
    }
  }
}

std::uint64_t decision_maker::pods_at(job_index j, gpu::allocation_id at, std::uint32_t pods) const {
  if (!job(j).pod_request.total || !scheduler_.places().has_nodes())
    return job(j).pod_request.total ? 1 : pods;
  const auto placed = scheduler_.places().inventory().pods(at);
  return static_cast<std::uint64_t>(std::distance(placed.begin(), placed.end()));
}

vector<std::string_view> decision_maker::nodes_of(gpu::allocation_id at) const {
  vector<std::string_view> nodes;
  if (!scheduler_.places().has_nodes()) return nodes;
  for (const gpu::placed_pod& p : scheduler_.places().inventory().pods(at)) {
    // The scenario's name, which outlives the scheduler's.
    nodes.push_back(scenario_.cluster->name(p.where.node));
  }
  return nodes;
}

vector<std::string_view> decision_maker::nodes_of_job(job_index j) const {
  vector<std::string_view> nodes = nodes_of(scheduler_.place_of(ids_[j]));
  for (const job_id s : scheduler_.elastic_pods_of(ids_[j])) {
    const job_state is = scheduler_.state(s);
    if (is != job_state::running && is != job_state::evicting) continue;
    const auto more = nodes_of(scheduler_.place_of(s));
    nodes.append(more.begin(), more.end());
  }
  return nodes;
}

vector<pods_of_set> decision_maker::sets_of(job_id unit, std::uint32_t pods, const flavor_pick& pick) const {
  vector<pods_of_set> all;
  const job_index j = scheduler_.what(unit);
  if (job(j).unlike == 0) return all;
  pods_by_set has{};
  if (unit == ids_[j]) {
    has = scheduler_.view().by_set(j, pods);
  } else {
    has[scheduler_.set_of(unit).index()] = pods;
  }
  const vector<std::string_view> nodes = nodes_of(scheduler_.place_of(unit));
  auto next = nodes.begin();
  const vector<std::string_view>& names = jobs_.set_names[job(j).unlike - 1];
  for (std::size_t s = 0; s < names.size(); ++s) {
    pods_of_set& of = all.emplace_back(pods_of_set{names[s], has[s], flavors_of_set(j, s, pick)});
    for (std::uint64_t i = 0; i < has[s] && next != nodes.end(); ++i) of.nodes.push_back(*next++);
  }
  return all;
}

/// The flavors of resources that are named in what is requested.
vector<flavor_name> decision_maker::counted_flavors(const amounts& request) const {
  vector<flavor_name> all;
  for (std::size_t d = 0; d < scenario_.resources.size(); ++d) {
    const std::string_view resource = scenario_.resources[d];
    if (flavor_of(resource).empty() || request[d] == quantity{}) continue;
    all.push_back({plain_name(resource), std::string{flavor_of(resource)}});
  }
  return all;
}

vector<flavor_name> decision_maker::flavors_of_set(job_index j, std::size_t set,
                                                   const flavor_pick& pick) const {
  if (entry(j) == nullptr) return flavors_of_traced_set(j, set, pick);
  const vector<pod_set_entry>& sets = entry(j)->sets;
  vector<flavor_name> all = counted_flavors(sets[set].request);
  std::size_t first = 0;
  for (std::size_t s = 0; s < set; ++s) first += sets[s].flavors.size();
  for (const flavor_group& g : sets[set].flavors) {
    for (const std::string& r : g.resources) all.push_back({r, g.options[pick[first]].name});
    ++first;
  }
  return all;
}

vector<flavor_name> decision_maker::flavors_of_traced_set(job_index j, std::size_t set,
                                                          const flavor_pick& pick) const {
  const trace& from = *scenario_.trace;
  const auto sets = from.sets_of(from.jobs[*jobs_.origins[j].traced]);
  const vector<sim::unlike_pods<n>::share>& shares = scheduler_.view().shares_of(j);
  const auto group = flavors_of_traced(scenario_, sets[set].gpu_model, sets[set].gpus, sets[set].pods);
  if (!group) return {};
  std::size_t chosen = 0;
  for (std::size_t s = 0; s < set; ++s) chosen += shares[s].flavors != 0 ? 1U : 0U;
  return {{"gpu", group->options[shares[set].flavors != 0 ? pick[chosen] : 0].name}};
}

vector<pods_of_set> decision_maker::sets_of_job(job_index j) const {
  const job_id core = ids_[j];
  vector<pods_of_set> all = sets_of(core, scheduler_.pods(core), scheduler_.pick(core));
  if (all.empty()) return all;
  for (const job_id pod : scheduler_.elastic_pods_of(core)) {
    const job_state is = scheduler_.state(pod);
    if (is != job_state::running && is != job_state::evicting) continue;
    add(all, sets_of(pod, 1, scheduler_.pick(core)));
  }
  return all;
}

vector<flavor_name> decision_maker::flavors_of(job_index j, const flavor_pick& pick) const {
  if (job(j).unlike != 0) return common_flavors(sets_of(ids_[j], job(j).fewest_pods(), pick));
  vector<flavor_name> all = counted_flavors(job(j).request);
  const auto add = [&](const flavor_group& group, std::size_t g) {
    for (const std::string& r : group.resources) all.push_back({r, group.options[pick[g]].name});
  };
  if (const job_entry* e = entry(j)) {
    for (std::size_t g = 0; g < e->flavors.size(); ++g) add(e->flavors[g], g);
  } else if (job(j).flavors != 0) {
    const trace_job& from = scenario_.trace->jobs[*jobs_.origins[j].traced];
    const auto group = flavors_of_traced(scenario_, from.gpu_model, from.gpus, from.pods);
    if (group) all.push_back({"gpu", group->options[pick[0]].name});
  }
  return all;
}

// Why the other jobs are pending.

gpu::pod_request decision_maker::pod_request_of(job_index j) const {
  return scheduler_.view().pod_request(j, job(j).fewest_pods(), scheduler_.pick(ids_[j]));
}

vector<decision_maker::choice> decision_maker::choices_of(job_index j, std::size_t most) const {
  const auto& view = scheduler_.view();
  const std::uint32_t pods = job(j).fewest_pods();
  const flavor_menu<max_resources> menu = view.flavors(j, pods);
  vector<choice> all;
  flavor_pick pick{};
  // A copy, where those that leave are at their places if they count.
  std::optional<sim::places> with_leaving;
  if (scheduler_.announces() && !scheduler_.evicting().empty()) {
    with_leaving = scheduler_.places();
    for (const job_id id : scheduler_.evicting()) with_leaving->reoccupy(scheduler_.place_of(id));
  }
  const sim::places& places = with_leaving ? *with_leaving : scheduler_.places();
  // KAI has no choice of flavors.
  if (has_own_bounds()) pick = scheduler_.pick(ids_[j]);
  do {
    choice c{pick, view.amount(j, pods, pick), view.pod_request(j, pods, pick)};
    if (has_own_bounds()) {
      if (const auto h = scheduler_.why(ids_[j]); h.binding) c.lacks.push_back(*h.binding);
    } else {
      for_each_shortfall(scheduler_.counted(), view.quota(j), c.request, capacity_of(j),
                         [&](const shortfall& s) { c.lacks.push_back(s); });
    }
    c.place = places.why_not(c.pod_request);
    all.push_back(std::move(c));
  } while (!has_own_bounds() && all.size() < most && advance(pick, menu));
  return all;
}

decision::pending_job decision_maker::explain_waiting(job_index j) {
  const auto h = scheduler_.why(ids_[j]);
  decision::pending_job pending{jobs_.ids[j], job(j).quota, {}, name_of(job(j).quota)};
  const std::string_view queue = queue_name(scheduler_.view().quota(j));
  const auto name_of_job = [this](job_index other) { return jobs_.ids[other]; };
  const std::string departs = text_of_departures(
      scheduler_, h, h.binding ? std::string_view{scenario_.resources[h.binding->dimension]} : "",
      name_of_job);
  if (h.departures) {
    const auto id_of = [&](job_id id) { return id ? name_of_job(scheduler_.what(id)) : std::string_view{}; };
    pending.leaving = {id_of(h.departures.job), id_of(h.departures.beneficiary), h.departures.others,
                       h.binding ? std::optional{h.departures.amount} : std::nullopt, h.departures.is_held};
  }
  if (h.out_of_reach) {
    pending.never = text_of_limit(*h.out_of_reach, scheduler_.tree(), h.out_of_reach_request,
                                  dimension_names<n>{scenario_.resources});
  }
  if (h.ready_at) {
    pending.reason = to_string(pending_reason::not_ready);
    pending.text = "it is not ready before " + clock_time(*h.ready_at);
  } else if (h.binding) {
    const shortfall& s = *h.binding;
    pending.reason = to_string(s.kind);
    pending.at = queue_name(s.quota);
    pending.resource = scenario_.resources[s.dimension];
    pending.short_by = s.missing;
    pending.pod_set = set_of(j, s, scheduler_.pick(ids_[j]));
    pending.text = explain_lack(s, j, scheduler_.pick(ids_[j]), scheduler_.request(ids_[j]));
    if (h.departures) pending.text.append("; ").append(departs);
  } else if (h.backs_off) {
    pending.reason = to_string(pending_reason::backoff);
    pending.at = queue;
    pending.resource = scenario_.resources[h.backs_off.dimension];
    pending.text = explain(h.backs_off, queue, *pending.resource);
  } else if (h.placement && h.placement->reason != gpu::obstacle::none) {
    const gpu::unplaceable& why = *h.placement;
    pending.reason = gpu::to_string(why.reason);
    pending.at = "cluster";
    pending.resource = gpu_resource(j);
    pending.short_by = why.reason == gpu::obstacle::full ? why.asked - why.free : missing_blocks(why, j);
    pending.pod_set = set_of(j, why);
    pending.text = explain(why, scheduler_.places(), set_names(j));
    if (h.departures) pending.text.append("; ").append(departs);
  } else if (h.kept_for) {
    const job_index soon = scheduler_.what(h.kept_for);
    pending.reason = "behind_head";
    pending.text = std::string{jobs_.ids[soon]} + " of " +
                   std::string{queue_name(scheduler_.view().quota(soon))} +
                   " is ready soon, and would take it back";
  } else if (h.resized_at) {
    pending.reason = "resize";
    pending.text = explain_resize(*h.resized_at, queue);
  } else if (scheduler_.settings(scheduler_.view().quota(j)).head == queue_head::strict) {
    pending.reason = "behind_head";
    pending.text = "an earlier job of " + std::string{queue} + " does not fit, and no other may pass it";
  } else if (scheduler_.settings(scheduler_.view().quota(j)).head == queue_head::reserve) {
    pending.reason = "behind_head";
    pending.text = "there is room for it, but it would delay a job that holds a reservation";
  } else {
    pending.reason = "waits_turn";
    pending.text = h.departures ? departs : "there is room for it, but its turn has not come in this cycle";
  }
  if (h.reservation) {
    reserved_start& to = pending.reservation.emplace();
    to.what = *h.reservation;
    if (!planned_) {
      planned_.emplace(scheduler_.places(), [this](auto visit) {
        scheduler_.for_each_planned_place(
            [&](job_id id, gpu::allocation_id at) { visit(scheduler_.what(id), at); });
      });
    }
    const auto nodes = planned_->of(j);
    for (const gpu::node_id node : nodes) to.nodes.push_back(scenario_.cluster->name(node));
    to.text = sentence(scheduler_, to.what, now_ - 1, name_of_job, clock_time,
                       nodes.empty() ? std::string{} : text_of_nodes(*scenario_.cluster, nodes));
    if (scheduler_.state(to.what.after) != job_state::unknown) {
      to.after = name_of_job(scheduler_.what(to.what.after));
    }
  }
  tell_finding(h.reason, h.preempts_at, pending.reason, pending.text);
  return pending;
}

standing decision_maker::standing_of(quota_id x, std::size_t d) const {
  // What is evicted does not count in the limits of KAI.
  const ledger<max_resources>& counted = has_own_bounds() ? scheduler_.assumed() : scheduler_.counted();
  if (has_own_bounds() && !counted.tree().parent(x)) {
    // The capacity does not follow from what the quotas deserve.
    const quantity known = scenario_.capacity[d];
    const quantity all = known.is_unlimited() ? least_capacity(counted.tree())[d] : known;
    quantity used;
    for (const quota_id root : counted.tree().roots()) used += scheduler_.ledger().total_usage(root)[d];
    return {quantity{}, quantity{}, all, used};
  }
  const auto nominated = scheduler_.nominated();
  const bool may_hold = std::any_of(nominated.begin(), nominated.end(), [&](job_id id) {
    return scheduler_.request(id)[d] > quantity{} &&
           counted.tree().common_ancestor(scheduler_.quota(id), x) == x;
  });
  return {counted.supply_of(x, d).borrow, counted.borrowed(x, d), counted.total_supply(x, d),
          counted.drawn(x, d), may_hold};
}

std::string decision_maker::explain_lack(const shortfall& s, job_index j, const flavor_pick& pick,
                                         const resources<n>& request) const {
  // KAI has one capacity, not one for each root.
  const bool is_of_all =
      has_own_bounds() && s.kind == bound::capacity && scheduler_.tree().roots().size() > 1;
  return explain(s, is_of_all ? "the cluster" : queue_name(s.quota), scenario_.resources[s.dimension],
                 standing_of(s.quota, s.dimension), jobs_.ids[j], request[s.dimension], set_of(j, s, pick));
}

std::string_view decision_maker::set_of(job_index j, const shortfall& why, const flavor_pick& pick) const {
  const auto set = lacking_set(scheduler_.view(), j, pick, why);
  return set ? set_names(j)[*set] : std::string_view{};
}

bool decision_maker::has_own_bounds() const {
  return scenario_.policy.preset == runai::name;
}

gpu::pod_request pods_without_room(const gpu::unplaceable& why, const gpu::pod_request& r) {
  if (r.sets.empty()) return r;
  const auto is_smaller = [](const gpu::pod_set& a, const gpu::pod_set& b) {
    return a.each.gpus < b.each.gpus;
  };
  const gpu::pod_set& set =
      why.set < r.sets.size() ? r.sets[why.set] : *std::max_element(r.sets.begin(), r.sets.end(), is_smaller);
  return set.of(set.fewest(), r);
}

quantity decision_maker::missing_blocks(const gpu::unplaceable& why, job_index j) const {
  const auto pods = gpu::split(pods_without_room(why, pod_request_of(j)), *scenario_.cluster);
  if (!pods) return why.asked;
  const auto without_room = static_cast<std::int64_t>(pods->pods - std::min(pods->pods, why.pods_with_room));
  if (without_room == 0) return quantity::whole(pods->rest.devices);
  if (!pods->each.depends_on_type()) {
    return quantity::milli(pods->each.milli) * pods->each.devices * without_room;
  }
  // All pods have the same size, so it follows from their sum.
  return quantity::milli(why.asked.in_milli() / static_cast<std::int64_t>(why.pods)) * without_room;
}

/// The resource of the scenario that counts the job's GPUs.
std::string_view decision_maker::gpu_resource(job_index j) const {
  const resources<max_resources>& request = scheduler_.request(ids_[j]);
  for (std::size_t d = 0; d < scenario_.resources.size(); ++d) {
    if (request[d] > quantity{} && counts_gpus(scenario_.resources[d])) return scenario_.resources[d];
  }
  return "gpu";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
