// SPDX-License-Identifier: BSL-1.0
// What a job's comments say: to its user, and to the next governor.
#include "governor.hpp"
#include "governor/src/waiting_text.hpp"

#include <algorithm>
#include <charconv>

namespace allot_slurm {

namespace {

/// Comments that Slurm can show in one line.
constexpr std::size_t most_comment = 400;
constexpr std::string_view avoiding = " avoiding ";
constexpr std::string_view pinned = " pinned to ";
constexpr std::string_view admitted_on = "admitted on ";
/// Bounds of what one tick may cost.
constexpr std::size_t most_checks = 200;
constexpr std::size_t most_looked_at = most_checks / 4;

}  // namespace

bool governor::was_told_to_yield(const job& j) {
  return j.admin_comment.starts_with(std::string{mark} + std::string{yields});
}

std::string avoided_nodes(const job& j) {
  if (!j.admin_comment.starts_with(governor::mark)) return {};
  const std::size_t at = j.admin_comment.rfind(avoiding);
  return at == std::string::npos ? std::string{} : j.admin_comment.substr(at + avoiding.size());
}

std::string own_exclusions(const job& j) {
  const std::string avoided = avoided_nodes(j);
  std::string own = j.excluded_nodes;
  if (avoided.empty() || !own.ends_with(avoided)) return own;
  own.resize(own.size() - avoided.size());
  if (own.ends_with(',')) own.pop_back();
  return own;
}

std::vector<node_share> places_in(std::string_view comment) {
  std::vector<node_share> all;
  const std::size_t on = comment.find(" on ");
  if (on == std::string_view::npos) return all;
  comment.remove_prefix(on + 4);
  comment = comment.substr(0, comment.find(';'));
  while (!comment.empty()) {
    const std::string_view one = comment.substr(0, comment.find(' '));
    comment.remove_prefix(std::min(one.size() + 1, comment.size()));
    const std::size_t colon = one.rfind(':');
    node_share s;
    s.node = std::string{one.substr(0, colon)};
    if (colon != std::string_view::npos) {
      const char* const end = one.data() + one.size();
      std::from_chars(one.data() + colon + 1, end, s.gpus);
    }
    if (!s.node.empty()) all.push_back(std::move(s));
  }
  return all;
}

std::string told_reason(const job& j) {
  std::string text = j.admin_comment.substr(governor::mark.size());
  for (const std::string_view end : {avoiding, pinned}) {
    if (const std::size_t at = text.rfind(end); at != std::string::npos) text.resize(at);
  }
  if (text.ends_with(';')) text.pop_back();
  return text;
}

std::string pinned_nodes(const job& j) {
  std::string_view text = j.admin_comment;
  if (!text.starts_with(governor::mark)) return {};
  std::string nodes;
  if (text.substr(governor::mark.size()).starts_with(admitted_on)) {
    for (const node_share& s : places_in(text)) nodes.append(nodes.empty() ? "" : ",").append(s.node);
  } else if (const std::size_t at = text.rfind(pinned); at != std::string_view::npos) {
    text.remove_prefix(at + pinned.size());
    nodes = text.substr(0, text.find(' '));
  }
  // Another list is its user's.
  return nodes == j.required_nodes ? nodes : std::string{};
}

/// Where Slurm chooses the nodes: those of the job's last run that are down or have just come back. slurmd
/// there is still to be told to end that run, and would end the next one with it.
std::string governor::nodes_to_avoid(const record& r) const {
  std::string list;
  if (config_.slurm.places_jobs || r.is.restarts == 0) return list;
  for (const std::string& n : closed_) {
    const bool ran_there =
        r.ran_on.empty() || std::find(r.ran_on.begin(), r.ran_on.end(), n) != r.ran_on.end();
    if (ran_there) list.append(list.empty() ? "" : ",").append(n);
  }
  return list;
}

/// The nodes that a pending job avoids are those of its comment: both change in one call, so that any
/// governor can tell them from those that its user excludes.
comments governor::comments_for(const job& j, const std::string& text, const std::string& for_user,
                                const std::string& avoid) const {
  comments say;
  const auto cut = [](std::string s) {
    // Parts of it may be a user's.
    for (char& c : s) {
      if (c < ' ' || c > '~') c = '?';
    }
    if (s.size() > most_comment) s.replace(most_comment - 3, std::string::npos, "...");
    return s;
  };
  // Where it runs must be there as a whole: a new governor reads it.
  std::string admin = std::string{mark} + text;
  if (!text.starts_with("admitted")) admin = cut(std::move(admin));
  // A requeued job stays pinned to the nodes of its last run until it is sent to others.
  if (const std::string pin = pinned_nodes(j); !pin.empty() && !text.starts_with(admitted_on)) {
    admin.append(";").append(pinned).append(pin);
  }
  const std::string avoids = avoided_nodes(j);
  const bool may_change = j.state == run_state::pending;
  const std::string& remains = may_change ? avoid : avoids;
  if (!remains.empty()) admin.append(avoiding).append(remains);
  if (may_change && avoid != avoids) {
    const std::string own = own_exclusions(j);
    say.excluded = own + (own.empty() || avoid.empty() ? "" : ",") + avoid;
  }
  std::string user = cut(std::string{mark} + for_user);
  // Whose mark it is stays until it is let go.
  const bool starts = text.starts_with("admitted") || text.starts_with(forced_mark.substr(mark.size()));
  const bool is_held = !starts && !held_by(j).empty();
  const bool keeps_admin = is_held && j.admin_comment.starts_with(held_mark);
  if (!keeps_admin && j.admin_comment != admin) say.admin = std::move(admin);
  const bool is_own =
      (j.comment.empty() || j.comment.starts_with(mark)) && !(is_held && j.comment.starts_with(held_mark));
  if (is_own && j.comment != user) say.user = std::move(user);
  return say;
}

void governor::note(job& part, const comments& said) {
  if (said.admin) part.admin_comment = *said.admin;
  if (said.user) part.comment = *said.user;
  if (said.excluded) part.excluded_nodes = *said.excluded;
  if (said.required) part.required_nodes = *said.required;
}

std::string governor::explanation(const record& r, allot::addressee whom) const {
  switch (r.at) {
    case phase::refused:
      return "refused: " + r.reason;
    case phase::not_ready:
      return "waits: " + r.reason;
    case phase::leaving:
      // Others requeue jobs, too.
      if (engine_->state(name(r)) != allot::job_state::evicting) return {};
      return std::string{yields} + r.reason;
    case phase::waiting:
      return waiting_text(*engine_, name(r), whom, now_.wall);
    default:
      return {};
  }
}

void governor::comment_some() {
  if (observes_ || engine_ == nullptr) return;
  // What has not changed may wait for another reason by now: all are looked at in turn.
  auto next = records_.upper_bound(next_to_check_);
  for (std::size_t i = 0; i < most_looked_at && !records_.empty(); ++i) {
    if (next == records_.end()) next = records_.begin();
    next_to_check_ = next->first;
    if (next->second.at == phase::waiting) dirty(next->second);
    ++next;
    if (i + 1 >= records_.size()) break;
  }
  std::size_t said = 0;
  std::size_t checked = 0;
  for (std::size_t left = dirty_.size(); left > 0 && !is_away_; --left) {
    if (said >= config_.slurm.comments_per_tick || ++checked > most_checks) return;
    const job_key k = dirty_.front();
    dirty_.pop_front();
    const auto at = records_.find(k);
    if (at == records_.end()) continue;
    record& r = at->second;
    r.is_dirty = false;
    // The next governor must know.
    if (forced_.count(k) != 0) continue;
    // Tasks of an array that share a record share its comments: those of the first.
    std::vector<std::uint32_t> tasks;
    std::vector<record*> those{&r};
    if (k.task != job_key::no_task && r.is.state == run_state::pending) {
      those.clear();
      for (auto of = records_.lower_bound({k.id, 0}); of != records_.end() && of->first.id == k.id; ++of) {
        if (of->second.is.record != r.is.record || of->second.is.state != run_state::pending) continue;
        those.push_back(&of->second);
        tasks.push_back(of->first.task);
      }
      if (tasks.size() == 1) tasks.clear();
    }
    record& first = *those.front();
    const std::string text = explanation(first, allot::addressee::operators);
    if (text.empty()) {
      // One that has just been released has a record of its own soon.
      if (first.at == phase::released && &first != &r) dirty(r);
      continue;
    }
    const std::string for_user = explanation(first, allot::addressee::users);
    const outcome o =
        call_for_parts(first, "comment", [&](const job& part, comments& say) -> std::optional<outcome> {
          say = comments_for(part, text, for_user);
          if (!say.admin && !say.user) return std::nullopt;
          ++said;
          const outcome told = slurm_.comment(part, say, tasks);
          // The tasks that share its record.
          if (told && !tasks.empty()) {
            for (record* const one : those) note(one->is, say);
          }
          return told;
        });
    if (o.is == outcome::kind::away) dirty(r);
  }
}

}  // namespace allot_slurm
