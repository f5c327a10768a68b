// SPDX-License-Identifier: BSL-1.0
#include "governor/src/engine.hpp"

#include "governor/src/named_plan.hpp"
#include "governor/src/resource_words.hpp"
#include "governor/src/where.hpp"

#include <allot/quota/shortfall.hpp>
#include <allot/systems/kai/runai.hpp>

#include <algorithm>
#include <array>

namespace allot_governor {

namespace {

/// What a job asks of the machines that the scheduler does not know, whatever it chooses.
class shown_alone {
 public:
  explicit shown_alone(const facts& f) : request_(f.pods) {
    for (const allot::lab::pod_set_entry& s : f.sets) sets_.push_back(s.pods);
    request_.sets = {sets_.data(), static_cast<std::uint32_t>(sets_.size())};
  }
  shown_alone(const shown_alone&) = delete;
  shown_alone& operator=(const shown_alone&) = delete;
  [[nodiscard]] const allot::gpu::pod_request& asked() const { return request_; }

 private:
  std::vector<allot::gpu::pod_set> sets_{};
  allot::gpu::pod_request request_;
};

}  // namespace

allot::result<std::unique_ptr<engine>> engine::make(engine_setup setup) {
  std::unique_ptr<engine> e{new engine};
  e->setup_ = std::move(setup);
  const allot::lab::quotas_file& file = e->setup_.quotas;
  std::vector<std::string> names;
  for (const std::string& r : file.resources) names.push_back(shown_resource(r));
  e->names_ = allot::dimension_names<dimensions>{names};
  host_places where;
  if (e->setup_.places_jobs) {
    auto made = places_of(e->setup_);
    if (!made) return made.problems();
    where = std::move(made).value();
  }
  host_view view{&e->table_};
  for (std::size_t d = 0; d < file.resources.size(); ++d) {
    view.total[d] = total_of(file.resources[d], e->setup_);
  }
  std::vector<allot::quota_spec<dimensions>> specs;
  for (const auto& q : file.quotas) specs.push_back(q.spec);
  allot::lab::named_policy chosen = file.policy;
  const allot::any_preset& preset = *chosen.preset();
  auto policies = preset.policies_for<host_view, host_places>();
  // A job that can't be evicted is never taken back, so it never stands on a loan.
  policies.not_preemptible = allot::capacity_kind::guaranteed;
  auto made =
      host_scheduler::make(preset, std::move(view), std::move(specs), std::move(where), std::move(policies));
  if (!made) return made.problems();
  e->scheduler_ = std::make_unique<host_scheduler>(std::move(made).value());
  for (std::size_t i = 0; !preset.ignores_quotas && i < file.quotas.size(); ++i) {
    auto wrong = e->scheduler_->configure(allot::quota_id{i}, file.quotas[i].settings);
    if (!wrong.empty()) return wrong;
  }
  return e;
}

// Names and numbers.

std::uint32_t engine::slot_for(const job_name& k, const facts& f) {
  if (free_.empty()) {
    free_.push_back(table_.add());
    keys_.emplace_back();
    ids_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  table_.show(slot, f);
  keys_[slot] = k;
  ids_[slot] = {};
  slots_[k] = slot;
  return slot;
}

allot::gpu::pod_request engine::asked(std::uint32_t slot, const allot::flavor_pick& pick) const {
  const host_view& view = scheduler_->view();
  return view.pod_request(slot, view.pods(slot), pick);
}

void engine::forget(const job_name& k) {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return;
  free_.push_back(at->second);
  slots_.erase(at);
}

std::string_view engine::note(const job_name& k, std::uint32_t slot, allot::submission answer) {
  if (answer) {
    ids_[slot] = answer.id;
    return {};
  }
  forget(k);
  return to_string(answer.why_not);
}

job_name engine::key_of(allot::job_id id) const {
  return keys_[scheduler_->what(id)];
}

// Events.

engine::allocation engine::take_place(const std::vector<node_share>& where,
                                      const allot::gpu::pod_request& pods) {
  host_scheduler& s = *scheduler_;
  return take(
      s.places(), s.nodes(), [&s](const auto& r, auto at) { return s.take_place(r, at); }, where, pods);
}

std::string_view engine::adopt(const event& e, std::uint32_t slot) {
  const allocation at = take_place(e.where, asked(slot, e.pick));
  const allot::submission answer = scheduler_->adopt(slot, e.at, at, e.pick);
  if (!answer) scheduler_->release_place(at);
  return note(e.key, slot, answer);
}

std::string_view engine::apply(const event& e) {
  host_scheduler& s = *scheduler_;
  using kind = event::kind;
  const auto known = slots_.find(e.key);
  const allot::job_id id = known == slots_.end() ? allot::job_id{} : ids_[known->second];
  const auto say = [](allot::refusal why) { return why == allot::refusal::none ? "" : to_string(why); };
  switch (e.is) {
    case kind::submit:
    case kind::adopt: {
      if (id) return "the job is known already";
      const std::uint32_t slot = slot_for(e.key, e.what);
      if (e.is == kind::submit) return note(e.key, slot, s.submit(slot));
      return adopt(e, slot);
    }
    case kind::alter: {
      if (!id) return "unknown_job";
      const allot::job_state was = s.state(id);
      static_cast<void>(s.cancel(id));
      const std::uint32_t slot = known->second;
      table_.show(slot, e.what);
      if (was == allot::job_state::pending || was == allot::job_state::nominated) {
        return note(e.key, slot, s.submit(slot));
      }
      const std::string_view why_not = adopt(e, slot);
      if (why_not.empty() && was == allot::job_state::evicting) static_cast<void>(s.evicting(ids_[slot]));
      return why_not;
    }
    case kind::evicting:
      return say(s.evicting(id));
    case kind::started:
      return say(s.started(id, e.at));
    case kind::evicted:
      return say(s.evicted(id));
    case kind::start_failed:
      return say(s.start_failed(id, e.at));
    case kind::not_evicted:
      return say(s.not_evicted(id, e.at));
    case kind::finished:
    case kind::cancel: {
      const auto why = e.is == kind::finished ? s.finished(id) : s.cancel(id);
      if (why == allot::refusal::none) forget(e.key);
      return say(why);
    }
    case kind::close:
    case kind::open: {
      if (!s.places().has_nodes()) return {};
      const auto n = s.places().inventory().layout().find(e.node);
      if (!n) return "unknown_node";
      static_cast<void>(e.is == kind::close ? s.nodes().close(*n) : s.nodes().reopen(*n));
      s.retry();
      return {};
    }
    case kind::foreign: {
      if (!s.places().has_nodes()) return {};
      if (foreign_.count(e.key) != 0) return "the job is known already";
      foreign_[e.key] = take_place(e.where, e.what.pods);
      s.retry();
      return {};
    }
    case kind::foreign_gone: {
      if (!s.places().has_nodes()) return {};
      const auto at = foreign_.find(e.key);
      if (at == foreign_.end()) return "unknown_job";
      s.release_place(at->second);
      foreign_.erase(at);
      s.retry();
      return {};
    }
    case kind::resume:
      resume(e);
      return {};
    case kind::freeze:
    case kind::thaw:
      for (const allot::quota_id x : s.tree().roots()) {
        static_cast<void>(e.is == kind::freeze ? s.freeze(x) : s.thaw(x));
      }
      return {};
  }
  return "unknown event";
}

void engine::resume(const event& e) {
  for (const auto& [key, what] : e.jobs) static_cast<void>(slot_for(key, what));
  const auto state = e.state.transformed([this](const auto& u) { return slots_.at(u.what); },
                                         [](const auto& u) { return u.where; });
  const auto answer = scheduler_->resume(
      state, [this](const auto& u) { return std::optional{take_place(u.where, asked(u.what, u.pick))}; });
  for (const auto& u : state.units) ids_[u.what] = u.id;
  // The governor tells them as it finds them.
  for (const auto& u : answer.refused) forget(keys_[u.what]);
}

const decision& engine::step(allot::instant now) {
  const host_scheduler& s = *scheduler_;
  const auto name = [&](std::uint32_t slot) { return keys_[slot]; };
  const auto& plan = scheduler_->step(now);
  decision_ = named(plan, s, name, [&](std::uint32_t slot) { return is_by_pod(slot); });
  for (std::size_t i = 0, next = 0; i < plan.admissions.size(); ++i) {
    const auto& a = plan.admissions[i];
    if (!a.core) decision_.admissions[next++].pods_of_sets = s.view().by_set(a.what, a.pods);
  }
  for (std::size_t i = 0; i < plan.evictions.size(); ++i)
    decision_.evictions[i].text = sentence(s, plan.evictions[i], names_, name);
  return decision_;
}

// Questions.

allot::job_state engine::state(const job_name& k) const {
  const auto at = slots_.find(k);
  return at == slots_.end() ? allot::job_state::pending : scheduler_->state(ids_[at->second]);
}

std::vector<node_share> engine::where(const job_name& k) const {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return {};
  return shares_of(scheduler_->places(), scheduler_->place_of(ids_[at->second]), is_by_pod(at->second));
}

bool engine::counts_for(const job_name& k, const facts& f) const {
  const std::uint32_t slot = slots_.at(k);
  const facts& is = table_[slot];
  if (is.quota != f.quota || is.priority != f.priority || is.preemptible != f.preemptible) return false;
  amounts sum = scheduler_->request(ids_[slot]);
  for (const allot::job_id pod : scheduler_->elastic_pods_of(ids_[slot])) {
    const allot::job_state at = scheduler_->state(pod);
    // It could grow, and what it has is all that it will have.
    if (at != allot::job_state::running && at != allot::job_state::evicting) return false;
    sum += scheduler_->request(pod);
  }
  return sum == f.request;
}

std::optional<job_name> engine::beneficiary(const job_name& k) const {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return std::nullopt;
  const allot::job_id b = scheduler_->beneficiary_of(ids_[at->second]);
  return b ? std::optional{key_of(b)} : std::nullopt;
}

std::optional<allot::reservation> engine::reservation_of(const job_name& k) const {
  const auto at = slots_.find(k);
  return at == slots_.end() ? std::nullopt : scheduler_->reservation_of(ids_[at->second]);
}

std::string engine::why(const job_name& k, allot::addressee whom) {
  const auto at = slots_.find(k);
  if (at == slots_.end()) return {};
  const auto h = scheduler_->why(ids_[at->second]);
  // Its user knows which job it is: the sentence begins with "it".
  return sentence(
      *scheduler_, h, names_, [&](std::uint32_t j) { return j == at->second ? std::string{"it"} : keys_[j]; },
      [](allot::instant) { return std::string{}; }, whom);
}

std::string engine::why_never(const facts& f) const {
  const allot::ledger<dimensions>& held = scheduler_->counted();
  const auto in = f.preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
  // Its bounds are not the ledger's.
  const bool has_own_bounds = setup_.quotas.policy.name == allot::runai::name;
  const auto lacks = has_own_bounds ? std::nullopt : lasting_shortfall(held, f.quota, f.request, in);
  return lacks ? text_of_limit(*lacks, held.tree(), f.request, names_, allot::addressee::users)
               : larger_than_all(f.request);
}

std::string engine::why_never(const job_name& k) {
  const allot::job_id id = ids_[slots_.at(k)];
  const auto h = scheduler_->why(id);
  return h.out_of_reach ? text_of_limit(*h.out_of_reach, scheduler_->tree(), h.out_of_reach_request, names_,
                                        allot::addressee::users)
                        : larger_than_all(scheduler_->request(id));
}

std::string engine::larger_than_all(const amounts& request) const {
  const amounts& all = scheduler_->view().capacity();
  for (std::size_t d = 0; d < setup_.quotas.resources.size(); ++d) {
    if (request[d] > all[d]) {
      return "the nodes have " + to_string(all[d]) + " of the " + to_string(request[d]) + ' ' +
             std::string{names_[d]};
    }
  }
  return {};
}

engine_state engine::state() const {
  return scheduler_->state().transformed(
      [this](const auto& u) { return keys_[u.what]; },
      [this](const auto& u) { return shares_of(scheduler_->places(), u.where, is_by_pod(u.what)); });
}

bool engine::could_ever_fit(const facts& f) const {
  const shown_alone alone{f};
  return scheduler_->places().could_ever_fit(alone.asked());
}

std::string engine::why_no_place(const facts& f) const {
  const shown_alone alone{f};
  return to_string(scheduler_->places().why_not(alone.asked()));
}

}  // namespace allot_governor
