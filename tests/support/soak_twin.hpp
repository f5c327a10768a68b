// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/change.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/soak_scheduler.hpp"

namespace allot_test {

/// Two schedulers that get the same calls. Every few steps the second ends, and another one continues from
/// the state of the first, or a copy of the second: it must answer all calls as the first, which never ends,
/// does.
class soak_twin final : public soak_scheduler {
 public:
  explicit soak_twin(std::function<std::unique_ptr<soak_scheduler>()> make)
      : make_(std::move(make)), kept_(make_()), killed_(make_()) {}

  allot::refusal refuses(std::uint32_t j) override { return kept_->refuses(j); }
  allot::submission submit(std::uint32_t j) override {
    return changed("submit", kept_->submit(j), killed_->submit(j));
  }
  allot::submission adopt(std::uint32_t j, allot::instant since, soak_place at,
                          const allot::flavor_pick& pick) override {
    const soak_place again = other(at);
    return changed("adopt", kept_->adopt(j, since, at, pick), killed_->adopt(j, since, again, pick));
  }
  allot::submission adopt_elastic_pod(allot::job_id core, allot::instant since, soak_place at) override {
    const soak_place again = other(at);
    return changed("adopt_elastic_pod", kept_->adopt_elastic_pod(core, since, at),
                   killed_->adopt_elastic_pod(core, since, again));
  }
  allot::refusal started(allot::job_id id, allot::instant at) override {
    return changed("started", kept_->started(id, at), killed_->started(id, at));
  }
  allot::refusal finished(allot::job_id id) override {
    return changed("finished", kept_->finished(id), killed_->finished(id));
  }
  allot::refusal evicted(allot::job_id id) override {
    return changed("evicted", kept_->evicted(id), killed_->evicted(id));
  }
  allot::refusal starting(allot::job_id id, allot::instant until) override {
    return changed("starting", kept_->starting(id, until), killed_->starting(id, until));
  }
  allot::refusal leaves_by(allot::job_id id, allot::instant when) override {
    return changed("leaves_by", kept_->leaves_by(id, when), killed_->leaves_by(id, when));
  }
  allot::refusal start_failed(allot::job_id id, allot::instant not_before) override {
    return changed("start_failed", kept_->start_failed(id, not_before),
                   killed_->start_failed(id, not_before));
  }
  allot::refusal not_evicted(allot::job_id id, allot::instant until) override {
    return changed("not_evicted", kept_->not_evicted(id, until), killed_->not_evicted(id, until));
  }
  allot::refusal freeze(allot::quota_id x, bool yes) override {
    const allot::refusal is = kept_->freeze(x, yes);
    past_.push_back([x, yes](soak_scheduler& it) { static_cast<void>(it.freeze(x, yes)); });
    return changed("freeze", is, killed_->freeze(x, yes));
  }
  allot::refusal hold(allot::job_id id) override {
    return changed("hold", kept_->hold(id), killed_->hold(id));
  }
  allot::refusal unhold(allot::job_id id) override {
    return changed("unhold", kept_->unhold(id), killed_->unhold(id));
  }
  allot::refusal update(allot::job_id id) override {
    return changed("update", kept_->update(id), killed_->update(id));
  }
  allot::refusal cancel(allot::job_id id) override {
    return changed("cancel", kept_->cancel(id), killed_->cancel(id));
  }
  allot::refusal evicting(allot::job_id id) override {
    return changed("evicting", kept_->evicting(id), killed_->evicting(id));
  }
  void retry() override {
    is_fresh_ = false;
    kept_->retry();
    killed_->retry();
  }
  std::vector<allot::problem> configure(allot::quota_id x, const allot::queue_settings& s) override {
    auto wrong = kept_->configure(x, s);
    if (wrong.empty()) past_.push_back([x, s](soak_scheduler& it) { it.configure(x, s); });
    changed("configure", wrong.size(), killed_->configure(x, s).size());
    return wrong;
  }
  allot::result<allot::vector<allot::quota_id>> apply(const changes& all) override {
    auto over = kept_->apply(all);
    if (over) past_.push_back([all](soak_scheduler& it) { static_cast<void>(it.apply(all)); });
    const auto other_over = killed_->apply(all);
    changed("apply", static_cast<bool>(over), static_cast<bool>(other_over));
    if (over) same("apply", over.value() == other_over.value(), true);
    return over;
  }
  soak_plan step(allot::instant now) override {
    if (++steps_ % 3 == 0) restart();
    if (steps_ % 3 == 1) killed_ = killed_->copy();
    soak_plan plan = kept_->step(now);
    const soak_plan again = killed_->step(now);
    check_same(plan, again);
    is_fresh_ = true;
    return plan;
  }
  void rebase(allot::instant now) override {
    kept_->rebase(now);
    killed_->rebase(now);
  }
  std::optional<allot::instant> wakes_at() override {
    return same("wakes_at", kept_->wakes_at(), killed_->wakes_at());
  }

  allot::queue_settings settings(allot::quota_id x) override { return kept_->settings(x); }
  soak_plan::pending_job why(allot::job_id id) override {
    const auto why = kept_->why(id), again = killed_->why(id);
    // KAI's cycle explains as of its last step.
    if (is_fresh_) same("why", why.reason == again.reason && why.is_bound == again.is_bound, true);
    return why;
  }
  allot::job_state state(allot::job_id id) override {
    return same("state", kept_->state(id), killed_->state(id));
  }
  std::uint32_t what(allot::job_id id) override { return same("what", kept_->what(id), killed_->what(id)); }
  soak_place place_of(allot::job_id id) override { return kept_->place_of(id); }
  allot::instant since(allot::job_id id) override {
    const bool holds =
        kept_->state(id) == allot::job_state::running || kept_->state(id) == allot::job_state::evicting;
    return holds ? same("since", kept_->since(id), killed_->since(id)) : kept_->since(id);
  }
  soak_amounts request(allot::job_id id) override {
    return same("request", kept_->request(id), killed_->request(id));
  }
  allot::flavor_pick pick(allot::job_id id) override {
    return same("pick", kept_->pick(id), killed_->pick(id));
  }
  std::span<const allot::job_id> elastic_pods_of(allot::job_id id) override {
    return kept_->elastic_pods_of(id);
  }
  std::size_t waiting(allot::quota_id x) override {
    return same("waiting", kept_->waiting(x), killed_->waiting(x));
  }
  soak_amounts held(allot::quota_id x) override { return same("held", kept_->held(x), killed_->held(x)); }
  soak_amounts assumed(allot::quota_id x) override {
    return same("assumed", kept_->assumed(x), killed_->assumed(x));
  }
  bool is_sound(allot::quota_id x) override { return kept_->is_sound(x); }
  bool is_sound() override { return same("is_sound", kept_->is_sound(), killed_->is_sound()); }
  std::optional<allot::quota_spec<2>> spec(allot::quota_id x) override { return kept_->spec(x); }

  bool has_nodes() override { return kept_->has_nodes(); }
  bool knows_places() override { return kept_->knows_places(); }
  std::optional<soak_place> place(const allot::gpu::pod_request& d) override {
    const auto at = kept_->place(d), again = killed_->place(d);
    same("place", at.has_value(), again.has_value());
    if (at) note_place(*at, *again);
    return at;
  }
  allot::refusal release(soak_place at) override {
    const soak_place again = other(at);
    return same("release", kept_->release(at), killed_->release(again));
  }
  bool ready(soak_place at) override { return kept_->ready(at); }
  bool contains(soak_place at) override { return kept_->contains(at); }
  std::vector<allot::gpu::placed_pod> pods(soak_place at) override { return kept_->pods(at); }
  void close(allot::gpu::node_id n) override {
    closed_.insert(n);
    kept_->close(n);
    killed_->close(n);
  }
  void reopen(allot::gpu::node_id n) override {
    closed_.erase(n);
    kept_->reopen(n);
    killed_->reopen(n);
  }
  std::size_t places() override { return same("places", kept_->places(), killed_->places()); }
  allot::quantity used() override { return same("used", kept_->used(), killed_->used()); }
  allot::quantity held_back() override { return same("held_back", kept_->held_back(), killed_->held_back()); }
  allot::result<std::map<std::size_t, soak_place>> resume_in(soak_scheduler& fresh) override {
    return kept_->resume_in(fresh);
  }
  [[nodiscard]] std::unique_ptr<soak_scheduler> copy() const override { return kept_->copy(); }

 private:
  template <class T>
  T changed(const char* call, T kept, T killed) {
    is_fresh_ = false;
    return same(call, kept, killed);
  }
  template <class T>
  T same(const char* call, T kept, T killed) const {
    if constexpr (requires { kept.why_not; }) {
      if (kept.id == killed.id && kept.why_not == killed.why_not) return kept;
    } else {
      if (kept == killed) return kept;
    }
    throw std::runtime_error{std::string{"after a restart another answer to "} + call};
  }
  void check_same(const soak_plan& a, const soak_plan& b) {
    same("step", a.clamped_by, b.clamped_by);
    if (told(a) != told(b)) {
      throw std::runtime_error{"after a restart another plan:" + told(b) + "\ninstead of:" + told(a)};
    }
    for (std::size_t i = 0; has_nodes() && i < a.admissions.size(); ++i) {
      note_place(a.admissions[i].where, b.admissions[i].where);
    }
  }
  /// What is decided, but for places.
  [[nodiscard]] static std::string told(const soak_plan& plan) {
    std::string text;
    const auto id = [](allot::job_id job) {
      return job ? std::to_string(job.index()) + '.' + std::to_string(job.generation()) : std::string{"none"};
    };
    for (const auto& e : plan.evictions) {
      text += " -" + id(e.id) + '>' + id(e.beneficiary) + '*' + std::to_string(e.pods);
      text += '/' + std::string{to_string(e.how)};
    }
    for (const auto& r : plan.nominations) {
      text += " ~" + id(r.id) + '@' + std::to_string(r.first) + '+' + std::to_string(r.count);
    }
    for (const auto& a : plan.admissions) {
      text += " +" + id(a.id) + '*' + std::to_string(a.pods) + " of " + id(a.core) + ':';
      for (const auto flavor : a.pick) text += std::to_string(flavor);
    }
    return text;
  }
  void note_place(soak_place at, soak_place again) {
    places_[at.index()] = again;
    const auto one = kept_->pods(at), other = killed_->pods(again);
    bool is_same = one.size() == other.size();
    for (std::size_t i = 0; is_same && i < one.size(); ++i) is_same = one[i].where == other[i].where;
    same("where", is_same, true);
  }
  /// The place of the second that corresponds to one of the first.
  [[nodiscard]] soak_place other(soak_place at) {
    const auto found = places_.find(at.index());
    if (found != places_.end() && kept_->contains(at)) return found->second;
    // One that neither has given.
    return has_nodes() ? soak_place{} : at;
  }
  void restart() {
    auto fresh = make_();
    for (const auto& call : past_) call(*fresh);
    auto taken = kept_->resume_in(*fresh);
    if (!taken) throw std::runtime_error{"resume: " + taken.problems().front().text};
    for (const auto& [at, again] : taken.value()) places_[at] = again;
    for (const allot::gpu::node_id n : closed_) fresh->close(n);
    killed_ = std::move(fresh);
  }

  std::function<std::unique_ptr<soak_scheduler>()> make_;
  std::unique_ptr<soak_scheduler> kept_;
  std::unique_ptr<soak_scheduler> killed_;
  /// What a new one is told before it continues.
  std::vector<std::function<void(soak_scheduler&)>> past_{};
  std::set<allot::gpu::node_id> closed_{};
  std::map<std::size_t, soak_place> places_{};
  std::size_t steps_ = 0;
  /// Whether nothing has happened since the last step.
  bool is_fresh_ = false;
};

}  // namespace allot_test
