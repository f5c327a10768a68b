// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/order.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/access.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/scheduler/with_pod_sets.hpp>

// Everything that a host or a policy author can supply, with the concept that checks it: include this header
// to find them all. In views, placements, orders and guards a member with the name of an optional one but the
// wrong signature is an error that names it; so is a cycle's `wakes_at`.
//
// ## The jobs: a view (scheduler/view.hpp)
//
// | concept             | members                                    | default                             |
// |---------------------|--------------------------------------------|-------------------------------------|
// | `job_view`          | `job`, `quota(j)`, `request(j)`, `priority(j)` | required                        |
// | `placed_view`       | `pod_request(j)`                           | required with a placement           |
// | `clocked_view`      | `time_point`: std::chrono's, or alike      | times are `instant`, a number       |
// | `timed_view`        | `submitted(j)`                             | the order of the calls of `submit`  |
// | `ready_view`        | `ready_at(j)`                              | every job can start at once         |
// | `identified_view`   | `id(j)`                                    | that order                          |
// | `preemptible_view`  | `preemptible(j)`                           | every job may be evicted            |
// | `preempting_view`   | `preempts(j)`                              | others may be evicted for every job |
// | `duration_view`     | `duration(j)`                              | no order by length (`sjf`)          |
// | `time_limited_view` | `time_limit(j)`                            | a job may run forever               |
// | `estimated_view`    | `estimate(j)`                              | a job ends by its time limit, if any |
// | `checkpointed_view` | `checkpoint(j)`, `restart(j)`              | nothing is saved, restarts are free |
// | `elastic_view`      | `pods(j)`, `min_pods(j)`, `request(j, pods)` | all pods start together           |
// | `semi_preemptible_view` | `preemptible(j, set)`                  | its pods are as preemptible as it is |
// | `pod_set_view`      | `pod_sets(j)`; `pods`, `min_pods`, `request` of a set | all pods are alike       |
// | `flavored_view`     | `flavors(j, pods)`                         | no choice                           |
// | `capacity_view`     | `capacity()`                               | what the quotas own                 |
// | `charging_view`     | `is_charged_by_place(j)`, `request_at(...)` | a job uses what it requests        |
// | `set_charging_view` | `request_at(j, set, ...)`                  | further pods are charged as the job |
//
// ## The nodes: a placement (scheduler/placement.hpp; what only `runai` uses: systems/kai/placements.hpp)
//
// | concept                    | what it adds                              | default                        |
// |----------------------------|-------------------------------------------|--------------------------------|
// | `placement`                | places, and savepoints of its own type    | `no_placement`: quotas alone   |
// | `placement_room`           | `P::room_counter`: what fits without some | trials under savepoints        |
// | `kept_placement_room`      | one that follows the placement            | the profile is walked          |
// | `grouped_placement_room`   | one that rules out searches for victims   | they begin                     |
// | `could_place(d)`           | whether `place(d)` would find a place     | it is placed and taken back    |
// | `optional_nodes_placement` | `has_nodes()`: without, quotas count      | it has nodes                   |
// | `revocable_placement`      | `contains`, `usable`: places can be lost  | a given place stays usable     |
// | `guarded_placement`        | `P::host_nodes`: what a host may change   | the host may change anything   |
// | `place_at(r, ...)`         | takes a place where a job runs            | `take_place(r)` alone          |
// | `near_request`             | `r.beside(place)`: another pod, near them | it may be anywhere             |
// | `replacing_placement`      | `replace`: pods on failed nodes elsewhere | a job that loses pods is lost  |
// | `foreseeing_placement`     | `next_change`, `look_ahead`: outages ahead | the nodes stay as they are    |
// | `r.room_key()`             | what of a request decides on room         | all of it                      |
// | `joint_placement`          | `place_sets`: unlike pods together        | set after set                  |
//
// Jobs whose pods differ need requests and places of several sets: `with_pod_sets` makes them of those of a
// placement that knows pods of one kind (scheduler/with_pod_sets.hpp).
//
// ## The parts of `policies` (scheduler/policies.hpp)
//
// Each of the last three may take the view and the jobs in front: `victim_order_with_jobs`,
// `orders_jobs_within_quota`, `victim_guard_with_jobs`, `victim_protection_with_jobs`.
//
// | concept               | answers                                  | default                             |
// |-----------------------|------------------------------------------|-------------------------------------|
// | `quota_order`         | whose turn it is                         | `within_nominal_then_borrowed_share` |
// | `job_order`           | which job of a quota is first            | `by_settings`                       |
// | `priority_order`      | whether that order follows priority      | it does not                         |
// | `victim_order`        | which job yields first                   | `lowest_priority_then_highest_share` |
// | `orders_within_quota` | the order of victims of one quota        | `compare_as_victims`                |
// | `victim_guard`        | whether a victim is fair                 | `eligible_is_fair`                  |
// | `staged_guard`        | how many strategies it has               | one                                 |
// | `monotone_guard`      | whether larger jobs are less fair        | each is judged                      |
// | `rival_guard`         | whether it judges rivals                 | rivals are not asked                |
// | `victim_protection`   | which jobs may not be preempted at all   | `unprotected`                       |
//
// ## The loop: a cycle, `Policies::cycle<Session>` (scheduler/session.hpp: what it sees and can do)
//
// | concept             | members                                    | default                             |
// |---------------------|--------------------------------------------|-------------------------------------|
// | `scheduling_cycle`  | `reset(session)`, `run(session)`           | `exhaustive_cycle`                  |
// | `explaining_cycle`  | `explain(session, pending_job)`            | the bound of the ledger that binds  |
// | `dividing_cycle`    | `entitled(quota)`                          | nothing is divided                  |
// | `reserving_cycle`   | `reserves()`                               | no reservations with a time         |
// | `backing_off_cycle` | `backs_off()`                              | a reclaimed quota borrows at once   |
// | `delaying_cycle`    | `delays_preemption()`                      | jobs preempt at once                |
// | `announcing_cycle`  | `has_announced`                            | it nominates                        |
// | `waking_cycle`      | `wakes_at(session)`                        | time alone changes nothing          |
// | `timekeeping_cycle` | `rebase(by)`: its times move               | it keeps none                       |
// | `resumable_cycle`   | `memory`, `resume`                         | nothing is remembered               |
//
// Policies with such a cycle have `jobs` and `not_preemptible`, as `policies` does, and may have:
//
// | concept              | member                                    | default                             |
// |----------------------|-------------------------------------------|-------------------------------------|
// | `rival_policies`     | `judges_rivals()`                         | as the part `guard` says            |
// | `patient_policies`   | `keeps_what_is_too_large()`               | such jobs are refused               |
// | `growing_policies`   | `growth()`: which set has the next pod    | `set_growth::evenly`                |
// | `refusable_policies` | `why_none()`                              | they can be used                    |
//
// ## The rest
//
// | concept                         | what it is                                 | default                 |
// |---------------------------------|--------------------------------------------|-------------------------|
// | `preset`                        | policies, settings, a reading of quotas    | `standard`              |
// | `preset_with_policies`          | its options change its parts               | `policies_type{}`       |
// | `preset_with_rules`             | an object with rules of its own for quotas | its members             |
// | `estimating_preset`             | `use_estimates()`: does more with them     | does the same           |
// | `preset_chosen_at_run_time`     | parts behind one type                      | `policies_type`         |
// | `surplus_rule`                  | divides what is left over (fairshare/)     | by weight               |
// | `shortage_rule`                 | divides what was promised too often        | all get the same part   |
// | `want_blind_rule`               | says that unmet wants change nothing       | they may                |
// | `access_policy`                 | who may submit to which quota (quota/)     | anyone                  |
