// SPDX-License-Identifier: BSL-1.0
// What would admit a job that waits: changes of the scenario, each tried by deciding on it anew.
#include "lab/decision_maker.hpp"
#include "lab/explain_job.hpp"

#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology_builder.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::size_t n = max_resources;
using job_index = sim::job_index;
using remedy = job_story::remedy;

[[nodiscard]] std::string listed_plainly(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += all[i];
  }
  return text;
}

class remedy_finder {
 public:
  remedy_finder(decision_maker& now, job_index job, std::size_t rounds)
      : now_(now), s_(now.file()), job_(job), id_(now.ids()[job]), rounds_(std::max<std::size_t>(2, rounds)) {
    quota_ = now_.policy().view().quota(job_);
    const decision_maker::choice best = best_choice(now_, job_);
    request_ = best.request;
    demand_ = best.demand;
    lacks_ = best.lacks;
    lacks_place_ = best.place.reason != gpu::obstacle::none;
  }

  [[nodiscard]] std::vector<remedy> find() && {
    if (!lacks_.empty()) {
      lift_bounds();
      let_it_be_preempted();
    } else if (lacks_place_) {
      scenario changed = s_;
      std::string text = add_nodes(changed);
      if (!text.empty()) propose({"nodes", std::move(text)}, changed);
    }
    if (!lacks_.empty() || lacks_place_) evict();
    if (lacks_.empty() && !lacks_place_) cancel_those_before();
    return std::move(found_);
  }

 private:
  struct trial {
    bool admits = false;
    /// Who got what the job was to get, and why it waits then.
    std::string remark{};
    bool lacks_place = false;
  };

  /// The choice of flavors that lacks least.
  [[nodiscard]] static decision_maker::choice best_choice(const decision_maker& in, job_index j) {
    const auto choices = in.choices_of(j);
    const auto missing = [](const decision_maker::choice& c) {
      quantity sum;
      for (const shortfall& l : c.lacks) sum += l.missing;
      return std::pair{sum, c.place.reason != gpu::obstacle::none};
    };
    return *std::min_element(choices.begin(), choices.end(),
                             [&](const auto& a, const auto& b) { return missing(a) < missing(b); });
  }

  [[nodiscard]] trial try_out(const scenario& changed) const {
    errors wrong;
    const auto after = make_decisions(changed, rounds_, wrong);
    if (!after) return {false, "the scenario would not be valid"};
    const decision d = after->conclude();
    const auto is_it = [&](const auto& row) { return row.id == id_; };
    if (std::any_of(d.admit.begin(), d.admit.end(), is_it)) return {true};
    if (std::any_of(d.reserve.begin(), d.reserve.end(), is_it))
      return {true, "others have to go for it first"};
    const auto at = std::find(after->ids().begin(), after->ids().end(), id_);
    if (at != after->ids().end()) {
      const job_id id = after->id_of(static_cast<job_index>(at - after->ids().begin()));
      const bool runs = id && after->policy().state(id) == job_state::running;
      if (runs) return {true, "it would not have had to go"};
    }
    const auto held = std::find_if(d.holds.begin(), d.holds.end(), is_it);
    if (at == after->ids().end() || held == d.holds.end()) return {};
    trial t{false, held->text};
    const auto best = best_choice(*after, static_cast<job_index>(at - after->ids().begin()));
    if (!best.lacks.empty()) {
      const shortfall& l = best.lacks.front();
      const std::string_view resource = changed.resources[l.dimension];
      t.remark = explain(l, after->queue_name(l.quota), resource, after->standing_of(l.quota, l.dimension),
                         id_, best.request[l.dimension]);
    } else if (best.place.reason != gpu::obstacle::none) {
      t.remark = explain(best.place, after->policy().places());
      t.lacks_place = true;
    }
    const std::vector<std::string> others = who_would_run(*after);
    if (!others.empty()) t.remark = listed_plainly(others) + " would have it, and then " + t.remark;
    return t;
  }
  /// Those who wait now and would run then.
  [[nodiscard]] std::vector<std::string> who_would_run(const decision_maker& after) const {
    constexpr std::size_t most = 3;
    std::set<std::string_view> waiting;
    for (job_index j = 0; j < now_.ids().size(); ++j) {
      const bool waits = now_.id_of(j) && now_.policy().state(now_.id_of(j)) == job_state::pending;
      if (waits) waiting.insert(now_.ids()[j]);
    }
    std::vector<std::string> names;
    for (job_index j = 0; j < after.ids().size() && names.size() <= most; ++j) {
      const bool runs = after.id_of(j) && after.policy().state(after.id_of(j)) == job_state::running;
      if (!runs || waiting.count(after.ids()[j]) == 0) continue;
      names.emplace_back(names.size() < most ? after.ids()[j] : "others");
    }
    return names;
  }
  /// Tries it; when only a place is missing then, with nodes as well.
  void propose(remedy r, scenario& changed) {
    trial t = try_out(changed);
    if (!t.admits && t.lacks_place && r.kind != "nodes") {
      const std::string nodes = add_nodes(changed);
      const trial both = nodes.empty() ? trial{} : try_out(changed);
      if (!nodes.empty()) {
        r.text.append(", and ").append(nodes);
        t = both;
      }
    }
    r.admits = t.admits;
    r.remark = std::move(t.remark);
    found_.push_back(std::move(r));
  }

  // Numbers.

  [[nodiscard]] static bool is_tree(const scenario& changed) {
    const auto preset = any_preset::find(changed.policy.preset, changed.policy.options);
    std::vector<quota_spec<n>> specs;
    for (std::size_t i = 0; i < changed.initial_quotas; ++i) specs.push_back(changed.quotas[i].spec);
    if (!build_quota_tree(specs)) return false;
    if (preset && !preset->ignores_quotas) preset->adapt(specs);
    return static_cast<bool>(build_quota_tree(std::move(specs)));
  }
  [[nodiscard]] std::string amount(const shortfall& l) const {
    return to_string(l.missing) + ' ' + s_.resources[l.dimension];
  }

  /// Grants exactly what the bounds say is missing: the nearest bound in each dimension if that is enough
  /// (a quota that is given more passes on less), else all of them.
  void lift_bounds() {
    std::vector<shortfall> nearest;
    for (const shortfall& l : lacks_) {
      const auto same = [&](const shortfall& other) { return other.dimension == l.dimension; };
      if (std::none_of(nearest.begin(), nearest.end(), same)) nearest.push_back(l);
    }
    for (const bool by_borrowing : {true, false}) {
      const std::size_t before = found_.size();
      lift(nearest, by_borrowing);
      const bool is_enough = found_.size() > before && found_.back().admits;
      if (is_enough || nearest.size() == lacks_.size()) continue;
      found_.resize(before);
      lift(lacks_, by_borrowing);
    }
  }
  void lift(const std::vector<shortfall>& lacks, bool by_borrowing) {
    scenario changed = s_;
    std::vector<std::string> texts;
    bool borrows_more = false;
    for (const shortfall& l : lacks) {
      quota_spec<n>& spec = changed.quotas[l.quota.index()].spec;
      const bool is_limit = l.kind == bound::borrow_limit || l.kind == bound::nominal;
      if (!by_borrowing || !is_limit) {
        spec.nominal[l.dimension] += l.missing;
        texts.push_back(fmt::format("{} had {} more", spec.name, amount(l)));
        continue;
      }
      const quantity limit = now_.policy().booked().supply_of(l.quota, l.dimension).borrow;
      spec.borrow[l.dimension] = limit::at_most(limit + l.missing);
      const bool is_first = l.kind == bound::nominal;
      texts.push_back(fmt::format("{} might borrow {}{}", spec.name, amount(l), is_first ? "" : " more"));
      // Where nobody lends, a limit is of no use.
      borrows_more = borrows_more || !now_.policy().tree().spec(l.quota).is_static;
    }
    if (by_borrowing && !borrows_more) return;
    if (is_tree(changed)) return propose({by_borrowing ? "borrow" : "grant", listed_plainly(texts)}, changed);
    // A parent whose number contains its children's has to have more as well.
    std::vector<std::string> parents;
    const quota_tree<n>& tree = now_.policy().tree();
    for (const shortfall& l : lacks) {
      for (quota_id a = tree.parent(l.quota); a; a = tree.parent(a)) {
        changed.quotas[a.index()].spec.nominal[l.dimension] += l.missing;
        const std::string& name = s_.quotas[a.index()].spec.name;
        if (std::find(parents.begin(), parents.end(), name) == parents.end()) parents.push_back(name);
      }
    }
    if (by_borrowing || parents.empty() || !is_tree(changed)) return;
    propose({"grant", listed_plainly(texts) + ", and so had " + listed_plainly(parents)}, changed);
  }

  void let_it_be_preempted() {
    const bool matters = std::any_of(lacks_.begin(), lacks_.end(),
                                     [](const shortfall& l) { return l.kind == bound::guarantee; });
    if (!matters || now_.entry(job_) == nullptr) return;
    scenario changed = s_;
    for (job_entry& j : changed.jobs) j.preemptible = j.preemptible || j.id == id_;
    propose({"preemptible", fmt::format("{} might be preempted", id_)}, changed);
  }

  // Places.

  /// How many pods, at most `most`, an empty node has room for, whatever its pool and model are called.
  [[nodiscard]] static std::uint64_t room_on(gpu::node_spec node, gpu::pod_shape pod, std::uint64_t most) {
    node.count.reset();
    pod.pools = gpu::all_pools;
    pod.models = gpu::all_models;
    const auto made = gpu::build_cluster({std::move(node)});
    if (!made) return 0;
    const gpu::free_index empty{made.value()};
    const auto here = empty.layout().types().front().shape_on(pod);
    return here ? std::min(most, empty.pods_with_room(gpu::node_id{0}, *here, most)) : 0;
  }

  /// As many nodes as its pods without room need; empty when that is none or can't be told.
  [[nodiscard]] std::string add_nodes(scenario& to) const {
    if (!to.cluster) return {};
    const gpu::demand d = demand_;
    const auto pods = gpu::split(d, to.cluster->largest_node(d.pools, d.models));
    if (!pods) return {};
    const auto& places = now_.policy().places();
    const gpu::unplaceable why = places.why_not(d);
    std::vector<gpu::node_spec> specs;
    std::optional<gpu::node_spec> alike;
    for (std::size_t i = 0; i < to.cluster->size(); ++i) {
      const gpu::node_id node{i};
      const auto& of_node = to.cluster->position_of(node);
      if (of_node.spec >= specs.size()) specs.push_back(to.cluster->spec(node));
      const gpu::node_type& type = to.cluster->type_of(node);
      const bool suits = type.shape_on(pods->each) && (!pods->has_rest() || type.shape_on(pods->rest));
      const bool is_near = !why.best_domain || to.nearness->domain_of(node, why.level) == why.best_domain;
      if (suits && is_near && !alike) alike = to.cluster->spec(node);
    }
    if (!alike) return {};
    const std::uint64_t missing = why.pods - std::min(why.pods, why.pods_with_room);
    const std::uint64_t per_node = std::max<std::uint64_t>(1, room_on(*alike, pods->each, missing));
    const std::uint64_t nodes = std::max<std::uint64_t>(1, (missing + per_node - 1) / per_node);
    alike->name = "(another)";
    alike->count = static_cast<std::int64_t>(nodes);
    specs.push_back(*alike);
    auto made = gpu::build_cluster(std::move(specs));
    if (!made) return {};
    const std::string near = why.best_domain
                                 ? fmt::format(" in the {} {}", to.nearness->level_name(why.level),
                                               to.nearness->qualified_name(why.best_domain))
                                 : "";
    to.cluster = std::move(made).value();
    if (to.nearness) to.nearness = gpu::topology_from_labels(*to.cluster, to.levels).value();
    return fmt::format("there {} {} more node{} of {} GPUs{}", nodes == 1 ? "was" : "were", nodes,
                       nodes == 1 ? "" : "s", alike->gpus, near);
  }

  // Others.

  struct candidate {
    job_index job;
    std::vector<job_id> units;
  };

  /// The fewest of those that run, in the order in which they would yield, without whom there is room, by
  /// whatever rule: what the policy's own rules allow has been tried.
  void evict() {
    auto& policy = now_.policy();
    std::vector<candidate> all;
    for (job_index j = 0; j < now_.ids().size(); ++j) {
      const job_id id = now_.id_of(j);
      const job_entry* e = now_.entry(j);
      if (!id || policy.state(id) != job_state::running || e == nullptr || e->phase != job_phase::running)
        continue;
      candidate c{j, {id}};
      for (const job_id unit : policy.surplus_of(id)) {
        if (policy.state(unit) == job_state::running) c.units.push_back(unit);
      }
      all.push_back(std::move(c));
    }
    const auto rank = [&](const candidate& c) {
      const sim::job<n>& job = now_.job(c.job);
      return std::tuple{!job.preemptible, job.priority, -now_.entry(c.job)->start, -job.submit, c.job};
    };
    std::sort(all.begin(), all.end(),
              [&](const candidate& a, const candidate& b) { return rank(a) < rank(b); });

    ledger<n> booked = policy.booked();
    sim::places& places = policy.places();
    const savepoint before = places.save();
    const auto fits = [&] {
      if (!booked.fits(quota_, request_, now_.lane_of(job_))) return false;
      const savepoint nested = places.save();
      const bool has_place = places.place(demand_).has_value();
      places.rollback(nested);
      return has_place;
    };
    const auto take_off = [&](const candidate& c) {
      for (const job_id u : c.units) {
        booked.release(policy.view().quota(c.job), policy.request(u), now_.lane_of(c.job));
        places.vacate(policy.place_of(u));
      }
    };
    const auto put_back = [&](const candidate& c) {
      for (const job_id u : c.units) {
        booked.charge(policy.view().quota(c.job), policy.request(u), now_.lane_of(c.job));
        places.reoccupy(policy.place_of(u));
      }
    };
    std::vector<candidate> gone;
    bool found = false;
    for (std::size_t i = 0; i < all.size() && !found; ++i) {
      take_off(all[i]);
      gone.push_back(all[i]);
      found = fits();
    }
    for (std::size_t i = gone.size(); found && i-- > 0;) {
      put_back(gone[i]);
      if (fits()) {
        gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        take_off(gone[i]);
      }
    }
    places.rollback(before);
    if (!found || gone.empty()) return;

    remedy r{"evict", {}};
    scenario changed = s_;
    std::vector<std::string> reasons;
    for (const candidate& c : gone) {
      r.jobs.emplace_back(now_.ids()[c.job]);
      std::erase_if(changed.jobs, [&](const job_entry& j) { return j.id == now_.ids()[c.job]; });
      std::string reason = why_not(c.job);
      if (!reason.empty()) reasons.push_back(r.jobs.back() + ' ' + reason);
    }
    r.text = fmt::format("{} were not there", listed_plainly(r.jobs));
    propose(std::move(r), changed);
    remedy& told = found_.back();
    for (const std::string& reason : reasons) {
      told.remark.append(told.remark.empty() ? "" : "; ").append(reason);
    }
  }

  /// Why the policy does not make this one go for the job, as far as the rules of their quotas tell.
  [[nodiscard]] std::string why_not(job_index victim) const {
    const auto& policy = now_.policy();
    const sim::job<n>& v = now_.job(victim);
    const sim::job<n>& b = now_.job(job_);
    const quota_id of_victim = policy.view().quota(victim);
    if (!v.preemptible) return "can't be preempted";
    const preempt_settings& may = policy.settings(quota_).preempt;
    if (of_victim == quota_) {
      if (may.within == preempt_within::never) return "is of the same quota, which lets no job evict another";
      return v.priority >= b.priority ? "has no lower priority" : "";
    }
    const ledger<n>& booked = policy.booked();
    for (quota_id a = quota_; a; a = booked.tree().parent(a)) {
      if (a == of_victim) return "is of a quota above its own";
    }
    const bool is_below = booked.tree().common_ancestor(of_victim, quota_) == quota_;
    if (is_below && may.children) return "";
    bool borrows = false;
    for (std::size_t d = 0; d < n; ++d) {
      borrows = borrows || (request_[d] > quantity{} && v.request[d] + v_flavors(victim)[d] > quantity{} &&
                            booked.own_usage(of_victim, d) > booked.supply_of(of_victim, d).own_pool);
    }
    if (!borrows) return fmt::format("stands on what {} owns", policy.tree().name(of_victim));
    if (may.reclaim == preempt_reclaim::never) return "is of another quota, and its own takes nothing back";
    if (may.reclaim == preempt_reclaim::lower_priority && v.priority >= b.priority)
      return "has no lower priority";
    for (std::size_t d = 0; d < n; ++d) {
      if (request_[d] > std::max(quantity{}, booked.balance(quota_, d))) {
        return fmt::format("borrows, but {} would borrow too", policy.tree().name(quota_));
      }
    }
    return "";
  }
  [[nodiscard]] amounts v_flavors(job_index j) const { return now_.policy().request(now_.id_of(j)); }

  /// A job that no bound stops stands behind others of its queue.
  void cancel_those_before() {
    const auto& policy = now_.policy();
    if (policy.settings(quota_).head != queue_head::strict) return;
    remedy r{"cancel", {}};
    scenario changed = s_;
    for (job_index j = 0; j < job_; ++j) {
      const job_id id = now_.id_of(j);
      const job_entry* e = now_.entry(j);
      if (!id || e == nullptr || policy.state(id) != job_state::pending || policy.view().quota(j) != quota_)
        continue;
      r.jobs.push_back(e->id);
      std::erase_if(changed.jobs, [&](const job_entry& other) { return other.id == e->id; });
      const trial t = try_out(changed);
      if (!t.admits) continue;
      r.text = fmt::format("{} were not before it", listed_plainly(r.jobs));
      r.admits = true;
      r.remark = t.remark;
      found_.push_back(std::move(r));
      return;
    }
  }

  decision_maker& now_;
  const scenario& s_;
  job_index job_;
  std::string_view id_;
  std::size_t rounds_;
  quota_id quota_;
  resources<n> request_{};
  gpu::demand demand_{};
  std::vector<shortfall> lacks_;
  bool lacks_place_ = false;
  std::vector<remedy> found_;
};

}  // namespace

std::vector<job_story::remedy> find_remedies(decision_maker& now, std::uint32_t job, std::size_t rounds) {
  return remedy_finder{now, job, rounds}.find();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
