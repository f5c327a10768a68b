// SPDX-License-Identifier: BSL-1.0
// What would admit a pending job: the trials, and remedies that give its quota more.
#include "lab/decide/explain_remedies.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/named_policy.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] bool is_tree(const scenario& changed) {
  const auto preset = changed.policy.policy();
  std::vector<quota_spec<max_resources>> specs;
  for (std::size_t i = 0; i < changed.initial_quotas; ++i) specs.push_back(changed.quotas[i].spec);
  if (!build_quota_tree(specs)) return false;
  if (preset && !preset->ignores_quotas) preset->adapt(specs);
  return static_cast<bool>(build_quota_tree(std::move(specs)));
}

/// What a quota deserves, or its children do if that is more: KAI's capacity where it is not known.
template <std::size_t N>
[[nodiscard]] quantity deserved_in(const quota_tree<N>& tree, quota_id x, std::size_t d) {
  quantity below;
  for (const quota_id c : tree.children(x)) below += deserved_in(tree, c, d);
  return std::max(below, tree.spec(x).nominal[d]);
}

}  // namespace

std::string listed_plainly(const vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += all[i];
  }
  return text;
}

remedy_finder::remedy_finder(decision_maker& now, sim::job_index job, std::size_t rounds)
    : now_(now), s_(now.file()), job_(job), id_(now.ids()[job]), rounds_(std::max<std::size_t>(2, rounds)) {
  quota_ = now_.scheduler().view().quota(job_);
  const decision_maker::choice best = best_choice(now_, job_);
  request_ = best.request;
  demand_ = best.pod_request;
  lacks_ = best.lacks;
  lacks_place_ = best.place.reason != gpu::obstacle::none;
}

vector<job_story::remedy> remedy_finder::find() && {
  let_it_preempt();
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

decision_maker::choice remedy_finder::best_choice(const decision_maker& in, job_index j) {
  const auto choices = in.choices_of(j);
  const auto missing = [](const decision_maker::choice& c) {
    quantity sum;
    for (const shortfall& l : c.lacks) sum += l.missing;
    return std::pair{sum, c.place.reason != gpu::obstacle::none};
  };
  return *std::min_element(choices.begin(), choices.end(),
                           [&](const auto& a, const auto& b) { return missing(a) < missing(b); });
}

remedy_finder::trial remedy_finder::try_out(const scenario& changed) const {
  errors wrong;
  const auto after = make_decisions(changed, rounds_, wrong);
  if (!after) return {false, "the scenario would not be valid"};
  const decision d = after->conclude();
  const auto is_it = [&](const auto& row) { return row.id == id_; };
  if (std::any_of(d.admit.begin(), d.admit.end(), is_it)) return {true};
  if (std::any_of(d.reserve.begin(), d.reserve.end(), is_it)) return {true, "others have to go for it first"};
  const auto at = std::find(after->ids().begin(), after->ids().end(), id_);
  if (at != after->ids().end()) {
    const job_id id = after->id_of(static_cast<job_index>(at - after->ids().begin()));
    const bool runs = id && after->scheduler().state(id) == job_state::running;
    if (runs) return {true, "it would not have had to go"};
  }
  const auto held = std::find_if(d.pending.begin(), d.pending.end(), is_it);
  if (at == after->ids().end() || held == d.pending.end()) return {};
  trial t{false, held->text};
  const auto there = static_cast<job_index>(at - after->ids().begin());
  const auto best = best_choice(*after, there);
  if (!best.lacks.empty()) {
    t.remark = after->explain_lack(best.lacks.front(), there, best.pick, best.request);
    // KAI's capacity is that of the nodes.
    t.lacks_place = now_.has_own_bounds() && best.place.reason != gpu::obstacle::none;
  } else if (best.place.reason != gpu::obstacle::none) {
    t.remark = explain(best.place, after->scheduler().places(), after->set_names(there));
    t.lacks_place = true;
  }
  const vector<std::string> others = who_would_run(*after);
  if (!others.empty()) t.remark = listed_plainly(others) + " would have it, and then " + t.remark;
  return t;
}

vector<std::string> remedy_finder::who_would_run(const decision_maker& after) const {
  constexpr std::size_t most = 3;
  std::set<std::string_view> waiting;
  for (job_index j = 0; j < now_.ids().size(); ++j) {
    const bool waits = now_.id_of(j) && now_.scheduler().state(now_.id_of(j)) == job_state::pending;
    if (waits) waiting.insert(now_.ids()[j]);
  }
  vector<std::string> names;
  for (job_index j = 0; j < after.ids().size() && names.size() <= most; ++j) {
    const bool runs = after.id_of(j) && after.scheduler().state(after.id_of(j)) == job_state::running;
    if (!runs || waiting.count(after.ids()[j]) == 0) continue;
    names.emplace_back(names.size() < most ? after.ids()[j] : "others");
  }
  return names;
}

void remedy_finder::propose(remedy r, scenario& changed) {
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

std::string remedy_finder::amount(const shortfall& l) const {
  return to_string(l.missing) + ' ' + s_.resources[l.dimension];
}

void remedy_finder::lift_bounds() {
  vector<shortfall> nearest;
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

void remedy_finder::lift(const vector<shortfall>& lacks, bool by_borrowing) {
  scenario changed = s_;
  vector<std::string> texts;
  bool borrows_more = false;
  for (const shortfall& l : lacks) {
    quota_spec<n>& spec = changed.quotas[l.quota.index()].spec;
    const bool is_limit = l.kind == bound::borrow_limit || l.kind == bound::nominal;
    if (!by_borrowing || !is_limit) {
      if (now_.has_own_bounds() && l.kind == bound::capacity) {
        spec.nominal[l.dimension] = deserved_in(now_.scheduler().tree(), l.quota, l.dimension);
      }
      spec.nominal[l.dimension] += l.missing;
      texts.push_back(fmt::format("{} had {} more", spec.name, amount(l)));
      continue;
    }
    const quantity limit = now_.scheduler().counted().supply_of(l.quota, l.dimension).borrow;
    spec.borrow[l.dimension] = limit::at_most(limit + l.missing);
    const bool is_first = l.kind == bound::nominal;
    texts.push_back(fmt::format("{} might borrow {}{}", spec.name, amount(l), is_first ? "" : " more"));
    // A higher limit is useless if nothing is lent.
    borrows_more = borrows_more || !now_.scheduler().tree().spec(l.quota).is_static;
  }
  if (by_borrowing && !borrows_more) return;
  if (is_tree(changed)) return propose({by_borrowing ? "borrow" : "grant", listed_plainly(texts)}, changed);
  // A parent whose nominal includes its children's must have more as well.
  vector<std::string> parents;
  const quota_tree<n>& tree = now_.scheduler().tree();
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

void remedy_finder::let_it_be_preempted() {
  const bool matters = std::any_of(lacks_.begin(), lacks_.end(),
                                   [](const shortfall& l) { return l.kind == bound::guarantee; });
  if (!matters || now_.entry(job_) == nullptr) return;
  scenario changed = s_;
  for (job_entry& j : changed.jobs) j.preemptible = j.preemptible || j.id == id_;
  propose({"preemptible", fmt::format("{} might be preempted", id_)}, changed);
}

void remedy_finder::let_it_preempt() {
  const pending_reason found = now_.scheduler().why(now_.id_of(job_)).reason;
  scenario changed = s_;
  quota_entry& its = changed.quotas[now_.job(job_).quota.index()];
  if (found == pending_reason::lost_work) {
    its.wait_if_loss_percent = 0;
    propose({"preempt", fmt::format("jobs of {} preempted whatever is lost", its.spec.name)}, changed);
  } else if (found == pending_reason::preempts_later) {
    its.preempt_after = 0;
    propose({"preempt", fmt::format("jobs of {} preempted at once", its.spec.name)}, changed);
  }
}

vector<job_story::remedy> find_remedies(decision_maker& now, std::uint32_t job, std::size_t rounds) {
  return remedy_finder{now, job, rounds}.find();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
