// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/access.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/words.hpp"

using allot::access_decision;
using allot::access_reason;
using allot::principal;
using allot::quota_id;
using allot::role_table;

namespace {

static_assert(allot::access_policy<role_table>);

/// A host's own answer.
struct nobody {
  access_decision decide(const principal&, quota_id) const { return {}; }
};
static_assert(allot::access_policy<nobody>);
static_assert(!allot::access_policy<int>);

constexpr quota_id quota1{0};
constexpr quota_id team_b{1};
constexpr quota_id team_c{2};
constexpr quota_id open{7};

const std::vector<std::string> b_member{"b-member"};
const std::vector<std::string> c_member{"c-member"};

/// Rules as a scenario file gives them: roles are given with the job.
role_table by_role() {
  role_table t;
  t.set_rule(team_b, {.roles = {"b-admin", "b-member"}, .users = {"ana"}});
  t.set_rule(team_c, {.roles = {"c-member"}});
  return t;
}

/// Rules as in PAI: a workspace knows its members' roles.
role_table by_workspace() {
  role_table t;
  t.add_workspace({.name = "workspace-b",
                   .members = {{"ben", {"developer"}}, {"bob", {"guest"}}, {"both", {"guest"}}},
                   .quotas = {quota1, team_b}});
  t.add_workspace({.name = "workspace-c",
                   .members = {{"cleo", {"developer"}}, {"both", {"developer", "on-call"}}},
                   .quotas = {quota1, team_c}});
  return t;
}

void check(const role_table& t, const principal& who, quota_id quota, bool allowed, access_reason reason,
           const std::string& matched = "") {
  const access_decision d = t.decide(who, quota);
  CAPTURE(std::string{who.user});
  CHECK(d.allowed == allowed);
  CHECK(d.reason == reason);
  CHECK(d.matched == matched);
}

}  // namespace

TEST_CASE("access: a quota without a rule admits anyone") {
  check(role_table{}, {"zoe"}, open, true, access_reason::unrestricted);
  check(by_role(), {"zoe"}, open, true, access_reason::unrestricted);
  // Nothing is inherited.
  check(by_role(), {"zoe"}, quota1, true, access_reason::unrestricted);
}

TEST_CASE("access: roles and users that the rule names are admitted, others refused") {
  const role_table t = by_role();
  check(t, {"ben", b_member}, team_b, true, access_reason::role, "b-member");
  check(t, {"ana"}, team_b, true, access_reason::named_user, "ana");
  check(t, {"ana", c_member}, team_b, true, access_reason::named_user, "ana");
  check(t, {"zoe", c_member}, team_b, false, access_reason::not_admitted);
  check(t, {"zoe"}, team_b, false, access_reason::not_admitted);
  check(t, {"zoe", c_member}, team_c, true, access_reason::role, "c-member");
  // A role is not a user, nor is a user a role.
  check(t, {"b-member"}, team_b, false, access_reason::not_admitted);
}

TEST_CASE("access: an open rule admits anyone, an empty one no user") {
  role_table t;
  t.set_rule(team_b, {.anyone = true});
  t.set_rule(team_c, {});
  check(t, {"zoe"}, team_b, true, access_reason::anyone);
  check(t, {"zoe"}, team_c, false, access_reason::not_admitted);
  t.clear_rule(team_c);
  check(t, {"zoe"}, team_c, true, access_reason::unrestricted);
}

TEST_CASE("access: a workspace's quotas are for its members") {
  const role_table t = by_workspace();
  check(t, {"ben"}, team_b, true, access_reason::member, "workspace-b");
  check(t, {"cleo"}, team_b, false, access_reason::not_a_member);
  check(t, {"zoe"}, team_b, false, access_reason::not_a_member);
  // A quota may belong to several.
  check(t, {"ben"}, quota1, true, access_reason::member, "workspace-b");
  check(t, {"cleo"}, quota1, true, access_reason::member, "workspace-c");
}

TEST_CASE("access: a role held in a workspace counts for its quotas only") {
  role_table t = by_workspace();
  for (const quota_id quota : {quota1, team_b, team_c}) t.set_rule(quota, {.roles = {"developer"}});
  check(t, {"ben"}, team_b, true, access_reason::role, "developer");
  check(t, {"bob"}, team_b, false, access_reason::not_admitted);
  // A developer in the other workspace, a guest here.
  check(t, {"both"}, team_b, false, access_reason::not_admitted);
  check(t, {"both"}, team_c, true, access_reason::role, "developer");
  check(t, {"both"}, quota1, true, access_reason::role, "developer");
  // A role confirmed by the host counts everywhere.
  const std::vector<std::string> developer{"developer"};
  check(t, {"zoe", developer}, team_b, true, access_reason::role, "developer");
}

TEST_CASE("access: custom roles count as roles, and named users are added") {
  role_table t = by_workspace();
  t.set_rule(team_c, {.roles = {"on-call"}, .users = {"ana"}});
  check(t, {"both"}, team_c, true, access_reason::role, "on-call");
  check(t, {"cleo"}, team_c, false, access_reason::not_admitted);
  check(t, {"ana"}, team_c, true, access_reason::named_user, "ana");
  check(t, {"zoe"}, team_c, false, access_reason::not_a_member);
}

TEST_CASE("access: members and non-members can be admitted as such") {
  role_table t = by_workspace();
  t.set_rule(team_b, {.users = {"ana"}, .members = true});
  check(t, {"bob"}, team_b, true, access_reason::member, "workspace-b");
  check(t, {"ana"}, team_b, true, access_reason::named_user, "ana");
  check(t, {"cleo"}, team_b, false, access_reason::not_a_member);
  t.set_rule(team_b, {.roles = {"developer"}, .non_members = true});
  check(t, {"cleo"}, team_b, true, access_reason::non_member);
  check(t, {"bob"}, team_b, false, access_reason::not_admitted);
  check(t, {"ben"}, team_b, true, access_reason::role, "developer");
}

TEST_CASE("access: a decision does not allocate") {
  const role_table t = by_workspace();
  access_decision d;
  CHECK(allot_test::allocations_in([&] { d = t.decide({"both", b_member}, quota1); }) == 0);
  CHECK(d.allowed);
}

TEST_CASE("access: every decision has a sentence") {
  role_table t = by_role();
  CHECK(t.explain({"zoe", c_member}, team_b, "quota1.1") ==
        "zoe (roles: c-member) may not submit to quota1.1: it admits the roles b-admin, b-member and the "
        "users ana");
  CHECK(t.explain({"ben", b_member}, team_b, "quota1.1") ==
        "ben (roles: b-member) may submit to quota1.1: it admits the role b-member");
  CHECK(t.explain({"ana"}, team_b, "quota1.1") == "ana may submit to quota1.1: it admits the user ana");
  CHECK(t.explain({"zoe"}, open, "open") == "zoe may submit to open: it admits anyone");
  t.set_rule(team_b, {});
  CHECK(t.explain({"zoe"}, team_b, "quota1.1") == "zoe may not submit to quota1.1: it admits nobody");

  role_table w = by_workspace();
  CHECK(w.explain({"cleo"}, team_b, "quota1.1") ==
        "cleo may not submit to quota1.1: it admits the members of workspace-b");
  CHECK(w.explain({"zoe"}, quota1, "quota1") ==
        "zoe may not submit to quota1: it admits the members of workspace-b, workspace-c");
  CHECK(w.explain({"both"}, quota1, "quota1") ==
        "both (roles: guest, developer, on-call) may submit to quota1: it admits the members of workspace-b");
  w.set_rule(team_b, {.roles = {"developer"}, .users = {"ana"}, .non_members = true});
  CHECK(w.explain({"cleo"}, team_b, "quota1.1") ==
        "cleo may submit to quota1.1: it admits users outside its workspaces");
  CHECK(
      w.explain({"bob"}, team_b, "quota1.1") ==
      "bob (roles: guest) may not submit to quota1.1: it admits the roles developer, the users ana and users "
      "outside workspace-b");
}

TEST_CASE("access: a rule requires a quota") {
  role_table t;
  CHECK_THROWS_AS(t.set_rule(quota_id::none(), {}), allot_test::assertion_failed);
  for (const quota_id x : {quota_id::none(), quota_id{70'000}}) {
    check(t, {"zoe"}, x, true, access_reason::unrestricted);
    check(by_role(), {"zoe"}, x, true, access_reason::unrestricted);
    CHECK(by_role().explain({"zoe"}, x, "?") == "zoe may submit to ?: it admits anyone");
  }
}

TEST_CASE("access: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::access_reason>(8));
}
