// SPDX-License-Identifier: BSL-1.0
#include "engine.hpp"

#include "request.hpp"
#include "topology.hpp"

#include <allot/scheduler/sentences.hpp>

#include <algorithm>
#include <array>

namespace allot_slurm {

using allot::gpu::node_id;
using allot::gpu::pod_location;
using allot::gpu::pod_request;

namespace {

constexpr std::int64_t max_amount = allot::gpu::max_host_amount;

/// What tells nodes apart besides their size.
[[nodiscard]] std::string pool_of(const node& n) {
  std::string pool;
  for (const std::string& p : n.partitions) pool.append(p).append(1, ',');
  for (const std::string& f : n.features) pool.append(1, '|').append(f);
  return pool;
}

[[nodiscard]] allot::gpu::node_spec spec_of(const node& n) {
  allot::gpu::node_spec s;
  s.name = n.name;
  s.gpus = n.gpus;
  s.gpu_model = n.gpu_type;
  s.cpu_milli = std::min<std::int64_t>(std::int64_t{n.cpus} * 1000, max_amount);
  s.memory_mib = static_cast<std::int64_t>(std::min<std::uint64_t>(n.memory_mib, max_amount));
  s.pool = pool_of(n);
  return s;
}

/// What the nodes have of a resource, if they say.
[[nodiscard]] allot::quantity total_of(std::string_view resource, const std::vector<node>& nodes) {
  const std::size_t slash = resource.rfind('/');
  const std::string_view plain = slash == std::string_view::npos ? resource : resource.substr(slash + 1);
  const std::string_view type = slash == std::string_view::npos ? "" : resource.substr(0, slash);
  std::int64_t sum = 0;
  for (const node& n : nodes) {
    if (plain == "gpu" && (type.empty() || type == n.gpu_type)) sum += n.gpus;
    if (plain == "cpu") sum += n.cpus;
    if (plain == "memory_mib") sum += static_cast<std::int64_t>(n.memory_mib);
    if (plain == "node") sum += 1;
  }
  return allot::quantity::whole(sum);
}

}  // namespace

allot::result<std::unique_ptr<engine>> engine::make(engine_setup setup) {
  std::unique_ptr<engine> e{new engine};
  e->setup_ = std::move(setup);
  const allot::lab::quotas_file& file = e->setup_.quotas;
  e->names_ = allot::dimension_names<dimensions>{file.resources};
  slurm_places where;
  if (e->setup_.places_jobs) {
    std::vector<allot::gpu::node_spec> specs;
    for (const node& n : e->setup_.nodes) specs.push_back(spec_of(n));
    auto layout = allot::gpu::build_cluster(std::move(specs));
    if (!layout) return layout.problems();
    const allot::gpu::cluster& built = layout.value();
    for (const std::string& pool : built.pools()) {
      const auto like = std::find_if(e->setup_.nodes.begin(), e->setup_.nodes.end(),
                                     [&](const node& n) { return pool_of(n) == pool; });
      e->pool_like_.push_back(*like);
    }
    const allot::gpu::any_placement policy{file.placement, built, {}, file.seed};
    auto near = topology_of(built, e->setup_.topology);
    if (near) {
      where = slurm_places{built, std::move(*near), policy};
    } else {
      where = slurm_places{built, policy};
    }
  }
  slurm_view view{&e->facts_};
  for (std::size_t d = 0; d < file.resources.size(); ++d) {
    view.total[d] = total_of(file.resources[d], e->setup_.nodes);
  }
  std::vector<allot::quota_spec<dimensions>> specs;
  for (const auto& q : file.quotas) specs.push_back(q.spec);
  allot::lab::named_policy chosen = file.policy;
  const allot::any_preset& preset = *chosen.preset();
  auto policies = preset.policies_for<slurm_view, slurm_places>();
  // A job that Slurm can't requeue is never taken back, so it never stands on a loan.
  policies.not_preemptible = allot::capacity_kind::guaranteed;
  auto made =
      slurm_scheduler::make(preset, std::move(view), std::move(specs), std::move(where), std::move(policies));
  if (!made) return made.problems();
  e->scheduler_ = std::make_unique<slurm_scheduler>(std::move(made).value());
  for (std::size_t i = 0; !preset.ignores_quotas && i < file.quotas.size(); ++i) {
    auto wrong = e->scheduler_->configure(allot::quota_id{i}, file.quotas[i].settings);
    if (!wrong.empty()) return wrong;
  }
  return e;
}

// Names and numbers.

std::uint32_t engine::slot_for(const job_key& k, const facts& f) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(facts_.size()));
    facts_.emplace_back();
    keys_.emplace_back();
    ids_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  facts_[slot] = f;
  keys_[slot] = k;
  ids_[slot] = {};
  slots_[k] = slot;
  return slot;
}

void engine::forget(const job_key& k) {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return;
  free_.push_back(at->second);
  slots_.erase(at);
}

std::string_view engine::note(const job_key& k, std::uint32_t slot, allot::submission answer) {
  if (answer) {
    ids_[slot] = answer.id;
    return {};
  }
  forget(k);
  return to_string(answer.why_not);
}

job_key engine::key_of(allot::job_id id) const {
  return keys_[scheduler_->what(id)];
}

// Places.

std::optional<engine::allocation> engine::try_take(const std::vector<node_share>& where,
                                                   std::int64_t cpu_milli, std::int64_t memory_mib,
                                                   bool with_gpus) {
  auto& inventory = scheduler_->places().inventory();
  pod_request d;
  std::vector<pod_location> at;
  std::int64_t gpus = 0;
  for (const node_share& s : where) {
    const auto n = inventory.layout().find(s.node);
    if (!n) continue;
    const std::uint32_t here = with_gpus ? s.gpus : 0;
    pod_location& location = at.emplace_back();
    location.node = *n;
    if (here == 0) continue;
    allot::gpu::pod_shape pod;
    pod.devices = here;
    const auto devices = inventory.index().choose_devices(*n, pod);
    if (!devices) return std::nullopt;
    location.devices = *devices;
    gpus += here;
  }
  if (at.empty()) return std::nullopt;
  d.cpu_milli = cpu_milli;
  d.memory_mib = memory_mib;
  if (gpus > 0) {
    // Each node has the GPUs that are named; one without any is not worth a pod.
    std::erase_if(at, [](const pod_location& l) { return l.devices == 0; });
    d.gpus = allot::quantity::whole(gpus);
    d.total = true;
  } else {
    d.pods = static_cast<std::uint32_t>(at.size());
    d.cpu_milli = cpu_milli / d.pods;
    d.memory_mib = memory_mib / d.pods;
  }
  return inventory.place_at(d, at);
}

/// Where a job runs is a fact: it gets its place even if the books say that there is no room, then without
/// what does not fit.
engine::allocation engine::take(const std::vector<node_share>& where, const facts& f) {
  auto& places = scheduler_->places();
  if (!places.has_nodes()) return {};
  auto& inventory = places.inventory();
  std::vector<node_id> closed;
  for (const node_share& s : where) {
    const auto n = inventory.layout().find(s.node);
    if (!n || !inventory.is_closed(*n)) continue;
    closed.push_back(*n);
    inventory.reopen(*n);
  }
  const std::int64_t pods = f.pods.total ? 1 : f.pods.pods;
  const std::int64_t cpu = std::min(f.pods.cpu_milli * pods, max_amount);
  const std::int64_t memory = std::min(f.pods.memory_mib * pods, max_amount);
  auto at = try_take(where, cpu, memory, true);
  if (!at) at = try_take(where, 0, 0, true);
  if (!at) at = try_take(where, 0, 0, false);
  for (const node_id n : closed) inventory.close(n);
  // On no node that is known: it holds nothing.
  for (std::size_t n = 0; !at && n < inventory.layout().size(); ++n) {
    at = try_take({{inventory.layout().name(node_id{n})}}, 0, 0, false);
  }
  return at.value_or(allocation{});
}

std::vector<node_share> engine::shares_of(allocation a) const {
  std::vector<node_share> all;
  const auto& places = scheduler_->places();
  if (!places.has_nodes()) return all;
  for (const allot::gpu::placed_pod& p : places.inventory().pods(a)) {
    const std::string& name = places.inventory().layout().name(p.where.node);
    const auto gpus = static_cast<std::uint32_t>(std::popcount(p.where.devices));
    const auto cpus = static_cast<std::uint32_t>((p.cpu_milli + 999) / 1000);
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.node == name; });
    if (same == all.end()) {
      all.push_back({name, gpus, cpus});
    } else {
      same->gpus += gpus;
      same->cpus += cpus;
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.node < y.node; });
  return all;
}

// Events.

std::string_view engine::apply(const event& e) {
  slurm_scheduler& s = *scheduler_;
  using kind = event::kind;
  const auto known = slots_.find(e.key);
  const allot::job_id id = known == slots_.end() ? allot::job_id{} : ids_[known->second];
  const auto say = [](allot::refusal why) { return why == allot::refusal::none ? "" : to_string(why); };
  switch (e.is) {
    case kind::submit:
    case kind::adopt:
    case kind::adopt_reserved:
    case kind::adopt_announced:
    case kind::adopt_promised: {
      if (id) return "the job is known already";
      const std::uint32_t slot = slot_for(e.key, e.what);
      if (e.is == kind::submit) return note(e.key, slot, s.submit(slot));
      if (e.is == kind::adopt_announced) return note(e.key, slot, s.adopt_announced(slot));
      if (e.is == kind::adopt_promised) return note(e.key, slot, s.adopt_promised(slot, e.promised));
      const allocation at = take(e.where, e.what);
      allot::submission answer;
      if (e.is == kind::adopt) {
        answer = s.adopt(slot, e.at, at);
      } else {
        std::vector<allot::job_id> victims;
        for (const job_key& v : e.others) {
          const auto found = slots_.find(v);
          victims.push_back(found == slots_.end() ? allot::job_id{} : ids_[found->second]);
        }
        answer = s.adopt_reserved(slot, victims, at);
      }
      if (!answer) static_cast<void>(s.places().release(at));
      return note(e.key, slot, answer);
    }
    case kind::alter: {
      if (!id) return "unknown_job";
      const allot::job_state was = s.state(id);
      static_cast<void>(s.cancel(id));
      const std::uint32_t slot = known->second;
      facts_[slot] = e.what;
      if (was == allot::job_state::pending || was == allot::job_state::reserved) {
        return note(e.key, slot, s.submit(slot));
      }
      const allocation at = take(e.where, e.what);
      const auto answer = s.adopt(slot, e.at, at);
      if (!answer) static_cast<void>(s.places().release(at));
      if (answer && was == allot::job_state::evicting) static_cast<void>(s.evicting(answer.id));
      return note(e.key, slot, answer);
    }
    case kind::evicting:
      return say(s.evicting(id));
    case kind::started:
      return say(s.started(id, e.at));
    case kind::evicted:
      return say(s.evicted(id));
    case kind::finished:
    case kind::cancel: {
      const auto why = e.is == kind::finished ? s.finished(id) : s.cancel(id);
      if (why == allot::refusal::none) forget(e.key);
      return say(why);
    }
    case kind::close:
    case kind::open: {
      auto& places = s.places();
      if (!places.has_nodes()) return {};
      const auto n = places.inventory().layout().find(e.node);
      if (!n) return "unknown_node";
      static_cast<void>(e.is == kind::close ? places.inventory().close(*n) : places.inventory().reopen(*n));
      s.retry();
      return {};
    }
    case kind::foreign: {
      if (!s.places().has_nodes()) return {};
      if (foreign_.count(e.key) != 0) return "the job is known already";
      foreign_[e.key] = take(e.where, e.what);
      s.retry();
      return {};
    }
    case kind::foreign_gone: {
      const auto at = foreign_.find(e.key);
      if (at == foreign_.end()) return "unknown_job";
      static_cast<void>(s.places().release(at->second));
      foreign_.erase(at);
      s.retry();
      return {};
    }
    case kind::past_usage:
      return s.restore_past_usage(e.numbers) ? "" : "not of these quotas and this policy";
  }
  return "unknown event";
}

const decision& engine::step(allot::instant now) {
  const slurm_scheduler& s = *scheduler_;
  const auto name = [&](std::uint32_t slot) { return to_string(keys_[slot]); };
  decision& d = decision_;
  d = {};
  const auto& plan = scheduler_->step(now);
  for (const auto& a : plan.admissions)
    d.admissions.push_back({keys_[a.what], shares_of(a.where), a.borrows});
  for (const auto& v : plan.evictions) {
    auto& to = d.evictions.emplace_back();
    to.key = keys_[v.what];
    if (v.beneficiary) to.beneficiary = key_of(v.beneficiary);
    to.how = v.how;
    to.text = sentence(s, v, names_, name);
  }
  for (const auto& r : plan.reservations) {
    auto& to = d.reservations.emplace_back();
    to.key = keys_[r.what];
    for (std::size_t i = r.first; i < r.first + r.count; ++i) {
      to.victims.push_back(keys_[plan.evictions[i].what]);
    }
  }
  for (const auto& p : plan.pending) d.pending.push_back(keys_[p.what]);
  return d;
}

// Questions.

allot::job_state engine::state(const job_key& k) const {
  const auto at = slots_.find(k);
  return at == slots_.end() ? allot::job_state::pending : scheduler_->state(ids_[at->second]);
}

std::vector<node_share> engine::where(const job_key& k) const {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return {};
  return shares_of(scheduler_->place_of(ids_[at->second]));
}

std::optional<job_key> engine::beneficiary(const job_key& k) const {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return std::nullopt;
  const allot::job_id b = scheduler_->beneficiary_of(ids_[at->second]);
  return b ? std::optional{key_of(b)} : std::nullopt;
}

std::optional<allot::promise> engine::promised(const job_key& k) const {
  const auto at = slots_.find(k);
  return at == slots_.end() ? std::nullopt : scheduler_->promised(ids_[at->second]);
}

std::string engine::why(const job_key& k) {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return {};
  const auto h = scheduler_->why(ids_[at->second]);
  // Its user knows which job it is: the sentence begins with "it".
  return sentence(*scheduler_, h, names_, [](std::uint32_t) { return std::string{"it"}; });
}

standing engine::stands() const {
  const slurm_scheduler& s = *scheduler_;
  standing all;
  for (const allot::job_id id : s.evicting()) all.leaving.push_back(key_of(id));
  for (const allot::job_id id : s.reserved()) {
    auto& r = all.reserved.emplace_back();
    r.key = key_of(id);
    r.where = shares_of(s.place_of(id));
    for (const allot::job_id v : s.evicting()) {
      if (s.beneficiary_of(v) == id) r.victims.push_back(key_of(v));
    }
  }
  for (const auto& [key, slot] : slots_) {
    if (s.announced(ids_[slot])) all.announced.push_back(key);
  }
  std::sort(all.announced.begin(), all.announced.end());
  for (const allot::job_id id : s.promised()) all.promised.emplace_back(key_of(id), *s.promised(id));
  all.past_usage = s.past_usage();
  return all;
}

std::optional<std::uint64_t> engine::pools(std::string_view partition, std::string_view constraint) const {
  if (!scheduler_->places().has_nodes()) return allot::gpu::all_pools;
  std::uint64_t all = 0;
  for (std::size_t p = 0; p < pool_like_.size(); ++p) {
    const node& like = pool_like_[p];
    const auto fits = satisfies(like.features, constraint);
    if (!fits) return std::nullopt;
    const bool is_in =
        std::find(like.partitions.begin(), like.partitions.end(), partition) != like.partitions.end();
    if (is_in && *fits) all |= std::uint64_t{1} << p;
  }
  return all;
}

std::uint64_t engine::models(std::string_view gpu_type) const {
  if (gpu_type.empty() || !scheduler_->places().has_nodes()) return allot::gpu::all_models;
  const auto& known = scheduler_->places().inventory().layout().models();
  std::uint64_t all = 0;
  for (std::size_t m = 0; m < known.size(); ++m) {
    if (known[m] == gpu_type) all |= std::uint64_t{1} << m;
  }
  return all;
}

std::optional<std::uint8_t> engine::leaf_level() const {
  const auto& places = scheduler_->places();
  const auto* near = places.has_nodes() ? places.inventory().nearness() : nullptr;
  if (near == nullptr || near->levels() == 0) return std::nullopt;
  return static_cast<std::uint8_t>(near->levels() - 1);
}

}  // namespace allot_slurm
