// SPDX-License-Identifier: BSL-1.0
#include "comments.hpp"

#include <algorithm>
#include <charconv>

namespace allot_slurm {

namespace {

constexpr std::string_view mark = comment_mark;
/// Comments that Slurm can show in one line.
constexpr std::size_t most_comment = 400;
constexpr std::string_view avoiding = " avoiding ";
constexpr std::string_view pinned = " pinned to ";
constexpr std::string_view admitted = "admitted";
constexpr std::string_view admitted_on = "admitted on ";

[[nodiscard]] bool says(const job& j, std::string_view text) {
  return j.admin_comment.starts_with(std::string{mark}.append(text));
}

}  // namespace

bool was_admitted(const job& j) {
  return says(j, admitted);
}
bool was_told_to_yield(const job& j) {
  return says(j, yields);
}

std::string avoided_nodes(const job& j) {
  if (!j.admin_comment.starts_with(mark)) return {};
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
  std::string text = j.admin_comment.substr(mark.size());
  for (const std::string_view end : {avoiding, pinned}) {
    if (const std::size_t at = text.rfind(end); at != std::string::npos) text.resize(at);
  }
  if (text.ends_with(';')) text.pop_back();
  return text;
}

std::string pinned_nodes(const job& j) {
  std::string_view text = j.admin_comment;
  if (!text.starts_with(mark)) return {};
  std::string nodes;
  if (text.substr(mark.size()).starts_with(admitted_on)) {
    for (const node_share& s : places_in(text)) nodes.append(nodes.empty() ? "" : ",").append(s.node);
  } else if (const std::size_t at = text.rfind(pinned); at != std::string_view::npos) {
    text.remove_prefix(at + pinned.size());
    nodes = text.substr(0, text.find(' '));
  }
  // Another list is its user's.
  return nodes == j.required_nodes ? nodes : std::string{};
}

std::string own_requirements(const job& j) {
  return pinned_nodes(j).empty() ? j.required_nodes : std::string{};
}

comments comments_for(const job& j, const std::string& text, const std::string& for_user,
                      const std::string& avoid) {
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
  if (!text.starts_with(admitted)) admin = cut(std::move(admin));
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
  const bool starts = text.starts_with(admitted) || text.starts_with(forced_mark.substr(mark.size()));
  const bool is_held = !starts && !held_by(j).empty();
  const bool keeps_admin = is_held && j.admin_comment.starts_with(held_mark);
  if (!keeps_admin && j.admin_comment != admin) say.admin = std::move(admin);
  const bool is_own =
      (j.comment.empty() || j.comment.starts_with(mark)) && !(is_held && j.comment.starts_with(held_mark));
  if (is_own && j.comment != user) say.user = std::move(user);
  return say;
}

void note(job& part, const comments& said) {
  if (said.admin) part.admin_comment = *said.admin;
  if (said.user) part.comment = *said.user;
  if (said.excluded) part.excluded_nodes = *said.excluded;
  if (said.required) part.required_nodes = *said.required;
}

}  // namespace allot_slurm
