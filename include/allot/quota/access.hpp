// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {

/// A user, and the roles that it has everywhere (those of a workspace come from the table).
struct principal {
  /// The name of the user.
  std::string_view user;
  /// The roles that it has everywhere.
  std::span<const std::string> roles{};
};

/// Why a principal may, or may not, submit to a quota. Stable: a program may test for it.
enum class access_reason : std::uint8_t {
  /// The quota has no restrictions.
  unrestricted,
  anyone,
  named_user,
  role,
  /// A member of a workspace that the quota is associated with.
  member,
  non_member,
  /// Refused: the quota belongs to workspaces, and the user is in none of them.
  not_a_member,
  /// Refused: the user matches nothing that the quota admits.
  not_admitted,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(access_reason value) noexcept {
  switch (value) {
    case access_reason::unrestricted:
      return "unrestricted";
    case access_reason::anyone:
      return "anyone";
    case access_reason::named_user:
      return "named_user";
    case access_reason::role:
      return "role";
    case access_reason::member:
      return "member";
    case access_reason::non_member:
      return "non_member";
    case access_reason::not_a_member:
      return "not_a_member";
    case access_reason::not_admitted:
      return "not_admitted";
  }
  return "";
}

/// Whether a principal may submit to a quota, and why.
struct access_decision {
  /// Whether it may.
  bool allowed = false;
  /// Which part of the rule decided.
  access_reason reason = access_reason::not_admitted;
  /// The user, role or workspace that matched; valid until the policy is changed.
  std::string_view matched{};
};

/// Decides whether a principal may submit to a quota. A host can provide its own policy of this form.
template <class Policy>
concept access_policy = requires(const Policy policy, const principal who, const quota_id quota) {
  { policy.decide(who, quota) } -> std::same_as<access_decision>;
};

/// The users that a quota admits: those that match any part of the rule.
struct access_rule {
  /// Basic or custom: a role is just a name.
  vector<std::string> roles{};
  /// Individual users, by name.
  vector<std::string> users{};
  /// Every member of a workspace that the quota is associated with.
  bool members = false;
  /// Every user who is in none of these workspaces.
  bool non_members = false;
  /// Every user.
  bool anyone = false;
};

/// A user and its roles in one workspace.
struct workspace_member {
  /// The name of the user.
  std::string user;
  /// The roles that it has in this workspace, besides those that it has everywhere.
  vector<std::string> roles{};
};
/// Binds users to their roles in it, and quotas to those users. A role held here counts for these quotas
/// only.
struct workspace {
  /// The name, which refusals mention.
  std::string name;
  /// The users in it.
  vector<workspace_member> members{};
  /// The quotas that belong to it.
  vector<quota_id> quotas{};
};

/// The rules of PAI's workspaces: a quota restricted by role admits only these roles, whether basic or
/// custom; users outside the workspace can be admitted as a group, and individual users by name. A quota
/// without a rule is open to the members of its workspaces, or to anyone if it has none. Nothing is inherited
/// from a parent: admission to a quota does not extend to the quotas below it.
///
/// Queries take any id. The table knows rules, not quotas: a quota that does not exist has no rule, and only
/// the tree knows whether it exists. Commands are unchecked: the quota id must not be none (`ALLOT_ASSERT`).
class role_table {
 public:
  /// Replaces the quota's rule.
  void set_rule(quota_id quota, access_rule rule) { entry_of(quota).rule = std::move(rule); }
  /// Removes the quota's rule: it is open to the members of its workspaces, or to anyone if it has none.
  void clear_rule(quota_id quota) { entry_of(quota).rule.reset(); }
  /// A quota may belong to several workspaces.
  void add_workspace(workspace w) {
    for (const quota_id quota : w.quotas) entry_of(quota).workspaces.push_back(workspaces_.size());
    workspaces_.push_back(std::move(w));
  }

  /// Linear in the size of the quota's rule and workspaces; does not allocate.
  [[nodiscard]] access_decision decide(const principal& who, quota_id quota) const {
    const entry* e = find(quota);
    if (e == nullptr || (!e->rule && e->workspaces.empty())) return {true, access_reason::unrestricted};
    const access_rule* rule = e->rule ? &*e->rule : nullptr;
    if (rule != nullptr) {
      if (rule->anyone) return {true, access_reason::anyone};
      if (const auto* user = element(rule->users, who.user)) return {true, access_reason::named_user, *user};
      for (const std::string& role : rule->roles) {
        if (has_role(*e, who, role)) return {true, access_reason::role, role};
      }
    }
    for (const std::size_t w : e->workspaces) {
      if (member_of(workspaces_[w], who.user) == nullptr) continue;
      if (rule == nullptr || rule->members) return {true, access_reason::member, workspaces_[w].name};
      return {false, access_reason::not_admitted};
    }
    if (rule != nullptr && rule->non_members) return {true, access_reason::non_member};
    return {false, e->workspaces.empty() ? access_reason::not_admitted : access_reason::not_a_member};
  }

  /// A human-readable sentence: "zoe (roles: c-member) may not submit to quota1.1: it admits the roles
  /// b-admin, b-member and the users ana". The same table always yields the same words.
  [[nodiscard]] std::string explain(const principal& who, quota_id quota, std::string_view quota_name) const {
    const access_decision d = decide(who, quota);
    const entry* e = find(quota);
    std::string text{who.user};
    if (const auto roles = roles_of(e, who); !roles.empty()) text += " (roles: " + listed(roles) + ')';
    text += d.allowed ? " may submit to " : " may not submit to ";
    text.append(quota_name).append(": it admits ");
    const std::string matched{d.matched};
    switch (d.reason) {
      case access_reason::unrestricted:
      case access_reason::anyone:
        return text + "anyone";
      case access_reason::named_user:
        return text + "the user " + matched;
      case access_reason::role:
        return text + "the role " + matched;
      case access_reason::member:
        return text + "the members of " + matched;
      case access_reason::non_member:
        return text + "users outside its workspaces";
      case access_reason::not_a_member:
      case access_reason::not_admitted:
        break;
    }
    return text + admitted(*e);
  }

 private:
  struct entry {
    std::optional<access_rule> rule;
    vector<std::size_t> workspaces;
  };
  using names = vector<std::string_view>;

  [[nodiscard]] entry& entry_of(quota_id quota) {
    ALLOT_ASSERT(quota, "a rule is about a quota");
    if (quota.index() >= entries_.size()) entries_.resize(quota.index() + 1);
    return entries_[quota.index()];
  }
  [[nodiscard]] const entry* find(quota_id quota) const {
    return quota.index() < entries_.size() ? &entries_[quota.index()] : nullptr;
  }
  template <class Names>
  [[nodiscard]] static const std::string* element(const Names& all, std::string_view wanted) {
    const auto at = detail::find(all.begin(), all.end(), wanted);
    return at != all.end() ? &*at : nullptr;
  }
  [[nodiscard]] static const workspace_member* member_of(const workspace& w, std::string_view user) {
    const auto at = detail::find_if(w.members.begin(), w.members.end(),
                                    [&](const workspace_member& m) { return m.user == user; });
    return at != w.members.end() ? &*at : nullptr;
  }
  [[nodiscard]] bool has_role(const entry& e, const principal& who, std::string_view role) const {
    if (element(who.roles, role) != nullptr) return true;
    return detail::any_of(e.workspaces.begin(), e.workspaces.end(), [&](std::size_t w) {
      const workspace_member* m = member_of(workspaces_[w], who.user);
      return m != nullptr && element(m->roles, role) != nullptr;
    });
  }

  /// All roles that count for this quota, without duplicates.
  [[nodiscard]] names roles_of(const entry* e, const principal& who) const {
    names result;
    const auto add = [&](const auto& roles) {
      for (const std::string& role : roles) {
        if (detail::find(result.begin(), result.end(), role) == result.end()) result.emplace_back(role);
      }
    };
    add(who.roles);
    for (std::size_t i = 0; e != nullptr && i < e->workspaces.size(); ++i) {
      if (const workspace_member* m = member_of(workspaces_[e->workspaces[i]], who.user)) add(m->roles);
    }
    return result;
  }
  [[nodiscard]] std::string admitted(const entry& e) const {
    vector<std::string> parts;
    names spaces;
    for (const std::size_t w : e.workspaces) spaces.emplace_back(workspaces_[w].name);
    if (e.rule && !e.rule->roles.empty()) parts.push_back("the roles " + listed(e.rule->roles));
    if (!spaces.empty() && (!e.rule || e.rule->members)) {
      parts.push_back("the members of " + listed(spaces));
    }
    if (e.rule && !e.rule->users.empty()) parts.push_back("the users " + listed(e.rule->users));
    if (e.rule && e.rule->non_members) parts.push_back("users outside " + listed(spaces));
    std::string text = parts.empty() ? "nobody" : parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) text += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
    return text;
  }
  template <class Names>
  [[nodiscard]] static std::string listed(const Names& all) {
    std::string text;
    for (const auto& name : all) {
      if (!text.empty()) text += ", ";
      text += name;
    }
    return text;
  }

  vector<entry> entries_;
  vector<workspace> workspaces_;
};

}  // namespace v0
}  // namespace allot
