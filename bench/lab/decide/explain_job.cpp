// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/explain_job.hpp"

#include "lab/decide/decision_maker.hpp"
#include "lab/decide/explain_change.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/terminal.hpp"
#include "lab/io/time_text.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/text.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/gpu/mig/mig_request.hpp>
#include <allot/quota/loans.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using job_index = sim::job_index;
using fate = job_story::fate;

/// Why a job of `victim`'s quota is evicted for one of `beneficiary`'s, as a sentence.
[[nodiscard]] std::string text_of_relation(std::string_view reason, std::string_view victim,
                                           std::string_view beneficiary) {
  if (reason == "reclaim") {
    return fmt::format("{} uses more than it owns, and {} takes back what it lent", victim, beneficiary);
  }
  if (reason == "reclaim_while_borrowing") {
    return fmt::format("{} uses more than it owns, and a job of {} of higher priority may borrow instead",
                       victim, beneficiary);
  }
  if (reason == "fair_share") {
    return fmt::format("both borrow, and {} has more of the surplus than {}", victim, beneficiary);
  }
  if (reason == "children")
    return fmt::format("{} is above {} in the tree and may take from it", beneficiary, victim);
  if (reason == "consolidate") return "it can run elsewhere, and moving it makes room";
  if (reason == "resized")
    return fmt::format("{}, or a quota above it, was made smaller than what is used", victim);
  if (reason == "time_limit") return "it has run as long as a job of its class may";
  return "a job ahead of it in the same quota needs the room";
}

[[nodiscard]] std::string text_of_flavors(const vector<flavor_name>& all) {
  std::string text;
  for (const flavor_name& f : all) {
    text.append(text.empty() ? "" : ", ").append(f.resource).append(" as ").append(f.flavor);
  }
  return text;
}
/// Of a choice: "gpu as h100", or by set, "workers gpu as h100, ps cpu as spot".
[[nodiscard]] std::string text_of_choice(const vector<flavor_name>& all, const vector<pods_of_set>& sets) {
  if (sets.size() < 2) return text_of_flavors(all);
  std::string text;
  for (const pods_of_set& s : sets) {
    if (s.flavors.empty()) continue;
    text.append(text.empty() ? "" : ", ").append(s.name).append(" ").append(text_of_flavors(s.flavors));
  }
  return text;
}

class story_teller {
 public:
  story_teller(decision_maker& now, decision made, const ledger<max_resources>& before)
      : now_(now),
        made_(std::move(made)),
        before_(before),
        held_(now.accounts()),
        entitled_(now.entitlements()) {}

  [[nodiscard]] job_story tell(job_index j, std::size_t rounds) {
    job_story t;
    t.id = now_.ids()[j];
    t.quota = now_.name_of(now_.job(j).quota);
    t.priority = now_.job(j).priority;
    t.preemptible = now_.job(j).preemptible;
    t.most_pods = now_.job(j).pods();
    if (tell_refusal(t)) return t;
    tell_request(t, j);
    tell_eviction(t);
    for (const auto& e : made_.evict) {
      if (e.beneficiary == t.id) t.victims.emplace_back(e.id);
    }
    t.is = fate_of(t, j);
    if (t.is == fate::waits) {
      tell_wait(t, j);
      t.remedies = find_remedies(now_, j, rounds);
    } else if (t.is == fate::nominated) {
      for (const auto& r : made_.reserve) {
        if (r.id != t.id) continue;
        t.victims.assign(r.waits_for.begin(), r.waits_for.end());
      }
    } else {
      for (const std::string_view node : now_.nodes_of_job(j)) t.nodes.emplace_back(node);
      tell_capacity(t, j);
    }
    tell_shares(t, j);
    return t;
  }

 private:
  [[nodiscard]] bool tell_refusal(job_story& t) {
    for (const decision::refusal& r : made_.refuse) {
      if (r.id != t.id) continue;
      t.is = fate::refused;
      t.why = r.text;
      return true;
    }
    return false;
  }

  void tell_request(job_story& t, job_index j) {
    const job_id id = now_.id_of(j);
    const job_state is = now_.scheduler().state(id);
    const bool has_pods = is == job_state::running || is == job_state::evicting;
    t.request = has_pods ? now_.used_by(j) : amounts{now_.scheduler().request(id)};
    t.flavors = now_.flavors_of(j, now_.scheduler().pick(id));
    t.pods = now_.job(j).pod_request.total ? 1 : now_.scheduler().pods(id);
    t.pod_sets = now_.sets_of_job(j);
    tell_needs(t, now_.job(j).pod_request);
    tell_needs_of_sets(t, j);
    for (const job_id s : now_.scheduler().elastic_pods_of(id)) {
      const job_state of_pod = now_.scheduler().state(s);
      if (of_pod == job_state::running || of_pod == job_state::evicting) ++t.pods;
    }
  }

  void tell_needs(job_story& t, const gpu::pod_request& d) const {
    const std::string each = t.most_pods > 1 ? "each " : "";
    if (!d.mig.is_none()) t.needs.push_back(each + "a MIG instance " + std::string{gpu::name_of(d.mig)});
    if (!now_.file().nearness) return;
    const gpu::topology& near = *now_.file().nearness;
    if (d.required_level != gpu::any_level) {
      t.needs.push_back("all in one " + std::string{near.level_name(d.required_level)});
    }
    if (d.preferred_level != gpu::any_level) {
      t.needs.push_back("if possible in one " + std::string{near.level_name(d.preferred_level)});
    }
  }

  void tell_needs_of_sets(job_story& t, job_index j) const {
    if (t.pod_sets.empty()) return;
    const auto level = [&](std::uint8_t l) { return std::string{now_.file().nearness->level_name(l)}; };
    for (std::size_t s = 0; s < t.pod_sets.size(); ++s) {
      const gpu::pod_set& set = now_.scheduler().view().sets_of(j)[s];
      job_story of_set;
      of_set.most_pods = set.pods;
      tell_needs(of_set, set.each);
      if (set.slice != 0) {
        of_set.needs.push_back("every " + std::to_string(set.slice) + " in one " + level(set.slice_level));
      }
      if (set.most_together != 0) {
        of_set.needs.push_back("at most " + std::to_string(set.most_together) + " in one " +
                               level(set.spread_level));
      }
      for (std::string& need : of_set.needs) {
        t.needs.push_back("those of " + std::string{t.pod_sets[s].name} + ' ' + std::move(need));
      }
    }
  }

  [[nodiscard]] fate fate_of(const job_story& t, job_index j) const {
    const auto is_in = [&](const auto& list) {
      return std::any_of(list.begin(), list.end(), [&](const auto& row) { return row.id == t.id; });
    };
    switch (now_.scheduler().state(now_.id_of(j))) {
      case job_state::nominated:
        return fate::nominated;
      case job_state::running:
        return is_in(made_.admit) ? fate::starts : fate::runs;
      case job_state::evicting:
        return is_in(made_.evict) ? fate::yields : fate::leaving;
      default:
        break;
    }
    return is_in(made_.reserve) && !is_in(made_.pending) ? fate::nominated : fate::waits;
  }

  void tell_eviction(job_story& t) {
    for (const decision::eviction& e : made_.evict) {
      if (e.id != t.id) continue;
      t.beneficiary = e.beneficiary;
      t.reason = e.reason;
      t.rule = e.why;
      t.yielding_pods += e.pods;
      std::string_view to;
      quota_id of;
      for (job_index k = 0; k < now_.ids().size(); ++k) {
        if (now_.ids()[k] != e.beneficiary || e.beneficiary.empty()) continue;
        of = now_.job(k).quota;
        to = now_.name_of(of);
      }
      t.why = text_of_relation(e.reason, now_.name_of(e.quota), to);
      if (of && of != e.quota && before_.tree().contains(of)) {
        t.of_victim = share_in(before_, e.quota);
        t.of_beneficiary = share_in(before_, of);
      }
    }
  }

  void tell_wait(job_story& t, job_index j) {
    const decision::pending_job h = now_.explain_waiting(j);
    t.why = h.text;
    t.reservation = h.reservation;
    t.leaving = h.leaving;
    t.never = h.never;
    if (const std::string_view word = word_of(h.reason); !word.empty()) t.reason = word;
    const auto choices = now_.choices_of(j);
    for (const decision_maker::choice& c : choices) {
      std::string flavors;
      if (choices.size() > 1) {
        flavors = text_of_choice(now_.flavors_of(j, c.pick),
                                 now_.sets_of(now_.id_of(j), now_.job(j).fewest_pods(), c.pick));
      }
      for (const shortfall& s : c.lacks) {
        const std::string_view resource = now_.file().resources[s.dimension];
        std::string at{now_.queue_name(s.quota)};
        std::string text = now_.explain_lack(s, j, c.pick, c.request);
        t.lacks.push_back({std::move(at), to_string(s.kind), std::string{resource}, s.missing, flavors,
                           std::move(text), now_.set_of(j, s, c.pick)});
      }
      if (c.place.reason == gpu::obstacle::none) continue;
      t.lacks.push_back({"cluster",
                         gpu::to_string(c.place.reason),
                         {},
                         {},
                         flavors,
                         explain(c.place, now_.scheduler().places(), now_.set_names(j)),
                         now_.set_of(j, c.place)});
    }
    if (h.reason == "behind_head") t.behind = head_of(j);
  }
  [[nodiscard]] static std::string_view word_of(std::string_view reason) {
    for (const std::string_view known :
         {"behind_head", "waits_turn", "not_proven", "lost_work", "preempts_later", "backoff", "not_ready"}) {
      if (known == reason) return known;
    }
    return {};
  }
  /// The first job of its queue that is pending for a reason of its own.
  [[nodiscard]] std::string head_of(job_index j) {
    const auto& view = now_.scheduler().view();
    for (const decision::pending_job& h : made_.pending) {
      for (job_index k = 0; k < now_.ids().size(); ++k) {
        if (now_.ids()[k] != h.id || k == j || view.quota(k) != view.quota(j)) continue;
        if (h.reason != "behind_head") return std::string{h.id};
      }
    }
    return {};
  }

  /// On which quotas' capacity it runs, and which jobs may preempt it.
  void tell_capacity(job_story& t, job_index j) {
    const quota_id x = now_.job(j).quota;
    const loan_book<max_resources> book{held_};
    std::set<quota_id> lenders;
    for (std::size_t d = 0; d < now_.file().resources.size(); ++d) {
      if (t.request[d] == quantity{}) continue;
      for (const loan& l : book.loans(d)) {
        if (l.borrower != x) continue;
        t.loans.push_back({now_.name_of(l.lender), now_.file().resources[d], l.amount});
        lenders.insert(l.lender);
      }
    }
    if (!t.preemptible || now_.is_single_queue()) return;
    const auto settings = [&](quota_id q) { return now_.scheduler().settings(q).preempt; };
    const auto claim = [&](quota_id q, std::string_view reason, std::string text) {
      t.yields_to.push_back({now_.name_of(q), reason, std::move(text)});
    };
    const std::string of_priority = fmt::format(" of a priority above {}", t.priority);
    switch (settings(x).within) {
      case preempt_within::never:
        break;
      case preempt_within::lower_priority:
        claim(x, "priority", "jobs of " + t.quota + of_priority);
        break;
      case preempt_within::lower_or_newer_equal:
        claim(x, "priority",
              fmt::format("jobs of {}{}, or of the same and submitted earlier", t.quota, of_priority));
        break;
    }
    const auto who = [&](bool higher_only, const priority_range& preempting) {
      std::string text = higher_only ? of_priority : "";
      const auto and_of = [&](std::string_view bound, std::int64_t priority) {
        text += fmt::format("{} {} {}", text.empty() ? " of a priority of" : " and", bound, priority);
      };
      if (preempting.least != priority_range{}.least) and_of("at least", preempting.least);
      if (preempting.most != priority_range{}.most) and_of("at most", preempting.most);
      return text;
    };
    for (const quota_id q : lenders) {
      const preempt_settings may = settings(q);
      if (may.reclaim == preempt_reclaim::never || !may.reclaim_priorities.preempted.has(t.priority))
        continue;
      claim(
          q, "reclaim",
          fmt::format("jobs of {}{}, which lends to {}", now_.name_of(q),
                      who(may.reclaim == preempt_reclaim::lower_priority, may.reclaim_priorities.preempting),
                      t.quota));
    }
    for (quota_id a = held_.tree().parent(x); a; a = held_.tree().parent(a)) {
      const preempt_settings may = settings(a);
      if (!may.children || !may.children_priorities.preempted.has(t.priority)) continue;
      claim(a, "children",
            fmt::format("jobs of {}{}, which is above it", now_.name_of(a),
                        who(may.children_lower_priority, may.children_priorities.preempting)));
    }
  }

  [[nodiscard]] job_story::share share_in(const ledger<max_resources>& l, quota_id x) {
    job_story::share s{now_.name_of(x)};
    const quota_spec<max_resources>& spec = l.tree().spec(x);
    s.nominal = spec.nominal;
    s.used = l.total_usage(x);
    s.entitled = entitled_[x.index()];
    for (std::size_t d = 0; d < max_resources; ++d) s.borrowed[d] = l.borrowed(x, d);
    s.weight_milli = spec.weight[0].in_milli();
    s.borrowed_share = share_of(l, contender<max_resources>{x}).weighted;
    return s;
  }
  /// Its quota, the siblings with which it shares the surplus, and its children.
  void tell_shares(job_story& t, job_index j) {
    const quota_tree<max_resources>& tree = held_.tree();
    const quota_id own = now_.job(j).quota;
    const auto peers = tree.parent(own) ? tree.children(tree.parent(own)) : tree.roots();
    for (const quota_id x : peers) {
      t.shares.push_back(share_in(held_, x));
      t.shares.back().is_own = x == own;
    }
    for (const quota_id x : tree.children(own)) t.shares.push_back(share_in(held_, x));
  }

  decision_maker& now_;
  decision made_;
  const ledger<max_resources>& before_;
  ledger<max_resources> held_;
  vector<amounts> entitled_;
};

void report_unknown(const scenario& s, std::string_view id, errors& found) {
  vector<std::string_view> ids;
  for (const job_entry& j : s.jobs) ids.push_back(j.id);
  if (s.trace) {
    for (const trace_job& j : s.trace->jobs) ids.push_back(s.trace->ids[j.id]);
  }
  const std::string_view meant = nearest(id, ids);
  std::string text = "there is no job \"" + std::string{id} + '"' + did_you_mean(meant);
  if (meant.empty() && ids.empty()) text += " (there are no jobs)";
  // To see what ids look like here.
  constexpr std::size_t most_named = 5;
  if (meant.empty() && !ids.empty()) {
    text += ids.size() > most_named ? " (there are " + std::to_string(ids.size()) + ", as " : " (there are ";
    for (std::size_t i = 0; i < std::min(ids.size(), most_named); ++i) {
      text.append(i == 0 ? "\"" : ", \"").append(ids[i]).append("\"");
    }
    text += ')';
  }
  found.add(s.file, {}, std::move(text));
}

}  // namespace

std::optional<job_story> explain_job(const scenario& s, std::string_view id, std::size_t rounds,
                                     errors& found) {
  auto now = make_decisions(s, rounds, found);
  if (!now) return std::nullopt;
  const ledger<max_resources> before = now->accounts_before();
  decision made = now->conclude();
  const auto at = std::find(now->ids().begin(), now->ids().end(), id);
  if (at != now->ids().end()) {
    return story_teller{*now, std::move(made), before}.tell(static_cast<job_index>(at - now->ids().begin()),
                                                            rounds);
  }
  for (const decision::refusal& r : made.refuse) {
    if (r.id != id) continue;
    job_story t;
    t.id = r.id;
    t.quota = now->name_of(r.quota);
    t.is = fate::refused;
    t.why = r.text;
    return t;
  }
  report_unknown(s, id, found);
  return std::nullopt;
}

int run_explain(const explain_options& options) {
  errors found;
  const auto s = read_scenario(options.source, found);
  std::string text;
  if (s && options.job.empty()) {
    const auto story = explain_changes(*s, options.changes, found);
    if (story) text = options.json ? to_json(*story, options.changes) : to_text(*story, &clock_time);
  } else if (s) {
    const auto story = explain_job(*s, options.job, options.rounds, found);
    if (story) text = options.json ? to_json(*story, *s) : to_text(*story, *s);
  }
  if (text.empty()) return complain(found);
  return print_result(text, "the explanation") ? 0 : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
