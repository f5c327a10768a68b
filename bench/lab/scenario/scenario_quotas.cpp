// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario_reader.hpp"

#include "lab/io/files.hpp"

#include <allot/core/vector.hpp>
#include <allot/quota/builder.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

queue_settings quota_entry::settings(queue_settings otherwise) const {
  otherwise.order = order.value_or(otherwise.order);
  otherwise.head = head.value_or(otherwise.head);
  // Of the policy's settings, those go that have no effect in this quota; what it sets itself is checked.
  if (otherwise.head != queue_head::reserve) {
    const queue_settings by_default{};
    otherwise.reservations = by_default.reservations;
    otherwise.backfill = by_default.backfill;
    otherwise.owners_backfill = by_default.owners_backfill;
    otherwise.gather = by_default.gather;
    otherwise.wait_if_loss_percent = by_default.wait_if_loss_percent;
  }
  if (otherwise.head == queue_head::strict) otherwise.strict_after = 0;
  otherwise.strict_after = strict_after.value_or(otherwise.strict_after);
  otherwise.gather.longest = gather_longest.value_or(otherwise.gather.longest);
  otherwise.wait_if_loss_percent = wait_if_loss_percent.value_or(otherwise.wait_if_loss_percent);
  otherwise.gather.percent = gather_percent.value_or(otherwise.gather.percent);
  otherwise.flavors.when_can_borrow = when_can_borrow.value_or(otherwise.flavors.when_can_borrow);
  otherwise.flavors.when_can_preempt = when_can_preempt.value_or(otherwise.flavors.when_can_preempt);
  otherwise.flavors.preference = flavor_preferred.value_or(otherwise.flavors.preference);
  preempt_settings& may = otherwise.preempt;
  may.within = within.value_or(may.within);
  may.reclaim = reclaim.value_or(may.reclaim);
  may.reclaim_priorities = reclaim_priorities.value_or(may.reclaim_priorities);
  may.children = children.value_or(may.children);
  may.children_lower_priority = children_lower_priority.value_or(may.children_lower_priority);
  may.children_priorities = children_priorities.value_or(may.children_priorities);
  may.borrow = borrow.value_or(may.borrow);
  if (!always_reclaims(may)) otherwise.owners_backfill = false;
  if (!may_preempt(with_guard(may, false))) otherwise.preempt_after = 0;
  otherwise.preempt_after = preempt_after.value_or(otherwise.preempt_after);
  if (borrow_max_priority) may.borrow_max_priority = borrow_max_priority;
  otherwise.min_runtime.preempt = min_runtime_preempt.value_or(otherwise.min_runtime.preempt);
  otherwise.min_runtime.reclaim = min_runtime_reclaim.value_or(otherwise.min_runtime.reclaim);
  otherwise.borrow_backoff = borrow_backoff.value_or(otherwise.borrow_backoff);
  if (ready_horizon) otherwise.ready_horizon = ready_horizon;
  return otherwise;
}

// Amounts.

std::optional<quantity> scenario_reader::read_amount(json_value value, bool may_be_unlimited) {
  if (value.is_string() && may_be_unlimited) {
    if (value.text() == "unlimited") return quantity::unlimited();
    value.report(found_, "expected a number or \"unlimited\", found " + value.shown());
    return std::nullopt;
  }
  const auto milli = read_milli(value, found_);
  return milli ? std::optional{quantity::milli(*milli)} : std::nullopt;
}

/// {"gpu": 4, "cpu": 16}. Resources that are not named stay unchanged.
void scenario_reader::read_amounts(json_value value, bool may_be_unlimited, amounts& to) {
  if (!value.is_object()) {
    value.report(found_, "expected amounts by resource, as in {\"" + to_.resources.front() +
                             "\": 1}, found " + value.shown());
    return;
  }
  json_object by_resource{value, found_};
  for (std::size_t d = 0; d < to_.resources.size(); ++d) {
    if (const auto amount = by_resource.find(to_.resources[d])) {
      to[d] = read_amount(*amount, may_be_unlimited).value_or(quantity{});
    }
  }
  by_resource.reject_unknown();
}

void scenario_reader::read_nominal(json_value value, bool is_root, amounts& to,
                                   std::array<bool, max_resources>* listed) {
  if (value.is_string()) {
    if (listed != nullptr) listed->fill(true);
    if (value.text() == "unlimited") {
      for (std::size_t d = 0; d < to_.resources.size(); ++d) to[d] = quantity::unlimited();
    } else if (value.text() == "cluster") {
      for (std::size_t d = 0; d < to_.resources.size(); ++d) set_nominal_of_nodes(value, is_root, d, to);
    } else {
      value.report(found_,
                   "expected amounts by resource, \"unlimited\" or \"cluster\", found " + value.shown());
    }
    return;
  }
  if (!value.is_object()) return read_amounts(value, true, to);
  json_object by_resource{value, found_};
  for (std::size_t d = 0; d < to_.resources.size(); ++d) {
    const auto amount = by_resource.find(to_.resources[d]);
    if (!amount) continue;
    if (listed != nullptr) (*listed)[d] = true;
    if (amount->is_string() && amount->text() == "cluster") {
      set_nominal_of_nodes(*amount, is_root, d, to);
    } else {
      to[d] = read_amount(*amount, true).value_or(quantity{});
    }
  }
  by_resource.reject_unknown();
}

void scenario_reader::set_nominal_of_nodes(json_value value, bool is_root, std::size_t d, amounts& to) {
  if (nodes_are_wrong_) return;
  if (!is_root) {
    value.report(found_, "only a root can have \"cluster\", all that the nodes have (expected amounts)");
  } else if (!to_.cluster) {
    value.report(found_, "there is no cluster whose nodes this could be (expected amounts)");
  } else if (const auto amount = amount_of_nodes(d)) {
    to[d] = *amount;
  } else {
    value.report(found_,
                 "the nodes do not say how much " + to_.resources[d] + " they have (expected an amount)");
  }
}

/// "all", "none", {"gpu": 2} or {"percent": 40}. Resources that are not named have no limit.
void scenario_reader::read_limits(json_value value, limits<max_resources>& to) {
  constexpr std::int64_t most_percent = 1'000'000'000;
  if (!value.is_object()) {
    if (const auto word = read_word(value, {"all", "none"}, found_)) {
      to = limits<max_resources>{*word == 0 ? limit::all() : limit::none()};
    }
    return;
  }
  if (const auto percent = value.find("percent")) {
    json_object only{value, found_};
    static_cast<void>(only.find("percent"));
    only.reject_unknown();
    if (const auto p = read_whole(*percent, 0, most_percent, found_)) {
      to = limits<max_resources>{limit::percent(*p)};
    }
    return;
  }
  amounts most{quantity::unlimited()};
  read_amounts(value, true, most);
  for (std::size_t d = 0; d < max_resources; ++d) to[d] = limit::at_most(most[d]);
}

/// 2.5, or {"gpu": 2, "cpu": 1}. Resources that are not named stay unchanged.
void scenario_reader::read_weights(json_value value, weights<max_resources>& to) {
  if (!value.is_object()) {
    if (const auto milli = read_milli(value, found_)) to = fair_weight::milli(*milli);
    return;
  }
  json_object by_resource{value, found_};
  for (std::size_t d = 0; d < to_.resources.size(); ++d) {
    if (const auto weight = by_resource.find(to_.resources[d]))
      to[d] = fair_weight::milli(read_milli(*weight, found_).value_or(0));
  }
  by_resource.reject_unknown();
}

// One quota.

quota_entry scenario_reader::read_quota(json_value value) {
  constexpr std::int64_t most_priority = std::numeric_limits<std::int32_t>::max();
  quota_entry q;
  if (!expect_object(value, found_)) return q;
  json_object quota{value, found_};
  if (const auto name = quota.require("name")) q.spec.name = read_string(*name, found_).value_or("");
  if (const auto parent = quota.find("parent")) {
    q.spec.parent = read_string(*parent, found_).value_or("");
    if (parent->is_string() && q.spec.parent.empty()) {
      parent->report(found_, "expected the name of a quota (a root has no \"parent\"), found \"\"");
    }
  }
  if (const auto nominal = quota.find("nominal"))
    read_nominal(*nominal, !quota.find("parent"), q.spec.nominal, &q.listed);
  const auto flag = [&](std::string_view key, bool& to) {
    if (const auto v = quota.find(key)) to = read_bool(*v, found_).value_or(to);
  };
  flag("inclusive", q.spec.inclusive);
  flag("overcommit", q.spec.overcommit);
  flag("static", q.spec.is_static);
  if (const auto lend = quota.find("lend")) read_limits(*lend, q.spec.lend);
  if (const auto borrow = quota.find("borrow")) read_limits(*borrow, q.spec.borrow);
  if (const auto weight = quota.find("weight")) read_weights(*weight, q.spec.weight);
  if (const auto priority = quota.find("priority")) {
    const auto n = read_whole(*priority, -most_priority, most_priority, found_);
    q.spec.priority = static_cast<std::int32_t>(n.value_or(0));
  }
  if (const auto order = quota.find("order")) {
    if (const auto word = read_word(*order, {"priority", "fifo"}, found_)) {
      q.order = *word == 0 ? queue_order::priority : queue_order::fifo;
    }
  }
  if (const auto head = quota.find("head")) {
    constexpr queue_head values[] = {queue_head::best_effort, queue_head::strict, queue_head::reserve};
    if (const auto word = read_word(*head, {"best_effort", "strict", "reserve"}, found_)) {
      q.head = values[*word];
    }
  }
  if (const auto preempt = quota.find("preempt")) read_preempt(*preempt, q);
  if (const auto choice = quota.find("flavor_choice")) read_flavor_choice(*choice, q);
  if (const auto times = quota.find("min_runtime_s")) read_min_runtime(*times, q);
  if (const auto times = quota.find("borrow_backoff_s")) read_borrow_backoff(*times, q);
  if (const auto gather = quota.find("gather")) read_gathering(*gather, q);
  if (const auto age = quota.find("strict_after_s")) q.strict_after = read_milli(*age, found_);
  if (const auto wait = quota.find("preempt_after_s")) q.preempt_after = read_milli(*wait, found_);
  if (const auto percent = quota.find("wait_if_loss_percent")) {
    constexpr std::int64_t most = 1'000'000;
    if (const auto n = read_whole(*percent, 0, most, found_)) {
      q.wait_if_loss_percent = static_cast<std::int32_t>(*n);
    }
  }
  if (const auto span = quota.find("ready_horizon_s")) q.ready_horizon = read_milli(*span, found_);
  if (const auto pools = quota.find("node_pools")) {
    q.pools = read_node_pools(*pools);
    if (q.pools == 0) pools->report(found_, "expected at least one pool (all: without \"node_pools\")");
  }
  if (const auto pools = quota.find("preferred_node_pools")) {
    q.preferred_pools = read_node_pools(*pools);
    if (q.preferred_pools == 0) {
      pools->report(found_, "expected at least one pool");
    } else if (q.preferred_pools != gpu::all_pools && (q.preferred_pools & ~q.pools) != 0) {
      pools->report(found_, "its jobs may not run in all of these: see its \"node_pools\"");
    }
  }
  if (const auto times = quota.find("time_limit_s")) read_time_limits(*times, q);
  if (const auto access = quota.find("access")) read_access(*access, q);
  quota.reject_unknown();
  return q;
}

void scenario_reader::read_preempt(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object preempt{value, found_};
  if (const auto within = preempt.find("within")) {
    constexpr preempt_within values[] = {preempt_within::never, preempt_within::lower_priority,
                                         preempt_within::lower_or_newer_equal};
    const auto word = read_word(*within, {"never", "lower_priority", "lower_or_newer_equal"}, found_);
    if (word) to.within = values[*word];
  }
  if (const auto reclaim = preempt.find("reclaim")) {
    to.reclaim = read_bounded_policy(*reclaim, to.reclaim_priorities);
  }
  if (const auto borrow = preempt.find("borrow"); borrow && expect_object(*borrow, found_)) {
    json_object while_borrowing{*borrow, found_};
    if (const auto policy = while_borrowing.require("policy")) {
      const auto word = read_word(*policy, {"never", "lower_priority"}, found_);
      if (word) to.borrow = *word == 0 ? preempt_borrow::never : preempt_borrow::lower_priority;
    }
    if (const auto most = while_borrowing.find("max_priority")) to.borrow_max_priority = read_priority(*most);
    while_borrowing.reject_unknown();
  }
  if (const auto children = preempt.find("children")) {
    if (children->is_string() || children->is_object()) {
      if (const auto policy = read_bounded_policy(*children, to.children_priorities)) {
        to.children = policy != preempt_reclaim::never;
        to.children_lower_priority = policy == preempt_reclaim::lower_priority;
      }
    } else {
      to.children = read_bool(*children, found_);
    }
  }
  preempt.reject_unknown();
}

std::optional<preempt_reclaim> scenario_reader::read_bounded_policy(json_value value,
                                                                    std::optional<priority_bounds>& bounds) {
  const auto read_policy = [&](json_value v) -> std::optional<preempt_reclaim> {
    constexpr preempt_reclaim values[] = {preempt_reclaim::never, preempt_reclaim::lower_priority,
                                          preempt_reclaim::any};
    const auto word = read_word(v, {"never", "lower_priority", "any"}, found_);
    return word ? std::optional{values[*word]} : std::nullopt;
  };
  if (!value.is_object()) return read_policy(value);
  json_object parts{value, found_};
  const auto policy = parts.require("policy");
  const auto read = policy ? read_policy(*policy) : std::nullopt;
  priority_bounds by;
  by.preempted = read_priority_range(parts);
  if (const auto who = parts.find("preempting"); who && expect_object(*who, found_)) {
    json_object range{*who, found_};
    by.preempting = read_priority_range(range);
    range.reject_unknown();
  }
  parts.reject_unknown();
  if (by != priority_bounds{}) bounds = by;
  return read;
}

priority_range scenario_reader::read_priority_range(json_object& from) {
  priority_range range;
  if (const auto least = from.find("min_priority")) range.least = read_priority(*least).value_or(range.least);
  const auto most = from.find("max_priority");
  if (most) range.most = read_priority(*most).value_or(range.most);
  if (most && range.least > range.most)
    most->report(found_, "less than min_priority: no job has such a priority");
  return range;
}

void scenario_reader::read_flavor_choice(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object choice{value, found_};
  const auto step = [&](std::string_view key, std::string_view stay, std::optional<flavor_step>& result) {
    const auto v = choice.find(key);
    const auto word = v ? read_word(*v, {stay, "try_next"}, found_) : std::nullopt;
    if (word) result = *word == 0 ? flavor_step::stay : flavor_step::try_next;
  };
  step("when_can_borrow", "borrow", to.when_can_borrow);
  step("when_can_preempt", "preempt", to.when_can_preempt);
  if (const auto v = choice.find("preference")) {
    constexpr flavor_preference preferences[] = {flavor_preference::borrowing_over_preemption,
                                                 flavor_preference::preemption_over_borrowing};
    if (const auto word = read_word(*v, {to_string(preferences[0]), to_string(preferences[1])}, found_))
      to.flavor_preferred = preferences[*word];
  }
  choice.reject_unknown();
}

void scenario_reader::read_min_runtime(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object times{value, found_};
  if (const auto v = times.find("preempt")) to.min_runtime_preempt = read_milli(*v, found_);
  if (const auto v = times.find("reclaim")) to.min_runtime_reclaim = read_milli(*v, found_);
  times.reject_unknown();
}

void scenario_reader::read_borrow_backoff(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object times{value, found_};
  backoff_times read;
  if (const auto v = times.require("first")) read.first = read_milli(*v, found_).value_or(0);
  if (const auto v = times.require("longest")) read.longest = read_milli(*v, found_).value_or(0);
  times.reject_unknown();
  to.borrow_backoff = read;
}

void scenario_reader::read_gathering(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object gather{value, found_};
  if (const auto v = gather.find("longest_s")) to.gather_longest = read_milli(*v, found_);
  if (const auto v = gather.find("percent")) {
    if (const auto n = read_whole(*v, 1, 100, found_)) to.gather_percent = static_cast<std::int32_t>(*n);
  }
  gather.reject_unknown();
}

/// {"interactive": 28800}: any word is a class.
void scenario_reader::read_time_limits(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  value.for_each([&](json_value of_class) {
    if (of_class.key().substr(0, 2) == "x-") return;
    const auto limit = read_milli(of_class, found_);
    if (limit && *limit == 0) of_class.report(found_, "expected a time above 0, found 0");
    if (limit) to.time_limits[std::string{of_class.key()}] = *limit;
  });
}

std::uint64_t scenario_reader::read_node_pools(json_value value) {
  if (!expect_array(value, found_) || nodes_are_wrong_) return gpu::all_pools;
  if (!to_.cluster) {
    value.report(found_, "there is no cluster whose pools these could be");
    return gpu::all_pools;
  }
  std::uint64_t all = 0;
  bool is_right = true;
  value.for_each([&](json_value element) {
    const auto name = read_string(element, found_);
    const std::uint64_t pools = name ? pools_named(*name) : 0;
    if (name && pools == 0) element.report(found_, "no node is in a pool \"" + *name + '"');
    is_right = is_right && pools != 0;
    all |= pools;
  });
  return is_right ? all : gpu::all_pools;
}

void scenario_reader::read_access(json_value value, quota_entry& to) {
  if (!expect_object(value, found_)) return;
  json_object access{value, found_};
  access_rule rule;
  if (const auto roles = access.find("roles")) rule.roles = read_strings(*roles, found_);
  if (const auto users = access.find("users")) rule.users = read_strings(*users, found_);
  if (const auto anyone = access.find("anyone")) rule.anyone = read_bool(*anyone, found_).value_or(false);
  access.reject_unknown();
  to.access = std::move(rule);
}

// All of them.

void scenario_reader::read_quotas(json_object& top) {
  const auto value = top.find("quotas");
  const std::size_t before = found_.size();
  if (!value || !expect_array(*value, found_)) {
    names_are_missing_ = value.has_value();
    return;
  }
  bool has_all = true;
  value->for_each([&](json_value quota) {
    quota_entry q = read_quota(quota);
    // When enough is wrong to report, more need not be kept.
    has_all = has_all && found_.size() - before <= errors::most_kept;
    if (has_all) to_.quotas.push_back(std::move(q));
  });
  to_.initial_quotas = to_.quotas.size();
  for (std::size_t i = 0; i < to_.quotas.size(); ++i) {
    quota_ids_.try_emplace(to_.quotas[i].spec.name, quota_id{i});
  }
  quotas_are_wrong_ = found_.size() != before;
  names_are_missing_ = !has_all || quota_ids_.count("") > 0;
}

void scenario_reader::make_quotas_of_tenants() {
  has_quotas_of_tenants_ = true;
  amounts everything{quantity::unlimited()};
  for (std::size_t d = 0; to_.cluster && d < to_.resources.size(); ++d) {
    everything[d] = amount_of_nodes(d).value_or(quantity::unlimited());
  }
  const trace none;
  auto specs = tenant_quotas(to_.trace ? *to_.trace : none, everything);
  for (quota_spec<max_resources>& spec : specs) {
    quota_ids_.try_emplace(spec.name, quota_id{to_.quotas.size()});
    to_.quotas.push_back({.spec = std::move(spec)});
  }
  to_.initial_quotas = to_.quotas.size();
}

quota_spec<max_resources> given_quota(const scenario& s, const quota_entry& q, bool is_leaf) {
  quota_spec<max_resources> spec = q.spec;
  const bool lists_flavors = s.policy.preset == "kueue" || s.policy.preset == "kueue_fair";
  for (std::size_t d = 0; lists_flavors && is_leaf && d < s.resources.size(); ++d) {
    if (!flavor_of(s.resources[d]).empty() && !q.listed[d]) spec.borrow[d] = limit::none();
  }
  return spec;
}

std::vector<quota_spec<max_resources>> given_quotas(const scenario& s) {
  std::vector<quota_spec<max_resources>> specs;
  std::set<std::string_view> parents;
  for (std::size_t i = 0; i < s.initial_quotas; ++i) parents.insert(s.quotas[i].spec.parent);
  for (std::size_t i = 0; i < s.initial_quotas; ++i) {
    const quota_entry& q = s.quotas[i];
    specs.push_back(given_quota(s, q, parents.count(q.spec.name) == 0));
  }
  return specs;
}

void adapt_to_preset(std::string_view preset, std::vector<quota_spec<max_resources>>& specs) {
  with_preset(preset, [&](auto p) {
    if (!p.ignores_quotas) p.adapt(specs);
  });
}

std::optional<std::size_t> scenario_reader::find_too_deep(
    std::span<const quota_spec<max_resources>> specs) const {
  const std::size_t most = limits_of_input().depth;
  // By index: the level, from 1; 0 if it is not known yet.
  vector<std::size_t> levels(specs.size());
  const auto parent_of = [&](std::size_t i) -> std::optional<std::size_t> {
    const auto at = quota_ids_.find(specs[i].parent);
    if (specs[i].parent.empty() || at == quota_ids_.end() || at->second.index() >= specs.size()) return {};
    return at->second.index();
  };
  vector<std::size_t> path;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    path.clear();
    std::optional<std::size_t> at = i;
    // Circles end here, too; they are reported as such.
    while (at && levels[*at] == 0 && path.size() <= specs.size()) {
      path.push_back(*at);
      at = parent_of(*at);
    }
    if (path.size() > specs.size()) return std::nullopt;
    std::size_t level = at ? levels[*at] : 0;
    for (auto p = path.rbegin(); p != path.rend(); ++p) {
      levels[*p] = ++level;
      if (level > most) return *p;
    }
  }
  return std::nullopt;
}

namespace {

[[nodiscard]] std::string too_deep() {
  return "the quota is too deep in its tree (expected at most " + std::to_string(limits_of_input().depth) +
         " levels; --max-depth N raises the limit)";
}

}  // namespace

void scenario_reader::check_quotas() {
  std::vector<quota_spec<max_resources>> specs = given_quotas(to_);
  if (const auto deep = find_too_deep(specs)) {
    quotas_are_too_deep_ = true;
    found_.add(to_.file, "/quotas/" + std::to_string(*deep) + "/parent", too_deep());
    return;
  }
  const auto given = build_quota_tree(specs);
  if (!given) return report_quotas(given.problems(), {});
  adapt_to_preset(to_.policy.preset, specs);
  const auto adapted = build_quota_tree(std::move(specs));
  if (!adapted) report_quotas(adapted.problems(), " (as the preset " + to_.policy.preset + " sees it)");
}

void scenario_reader::check_settings() {
  for (const auto& [i, p] : contradictions_in(to_)) {
    std::string field = p.field;
    std::replace(field.begin(), field.end(), '.', '/');
    if (field == "min_runtime" || field == "borrow_backoff" || field == "strict_after" ||
        field == "preempt_after" || field == "ready_horizon") {
      field += "_s";
    }
    if (field == "gather/longest") field += "_s";
    // Quotas added by events have no place of their own.
    std::string place = i < to_.initial_quotas ? "/quotas/" + std::to_string(i) : "/events";
    place += '/';
    place += field;
    found_.add(to_.file, place, p.text);
  }
}

std::string scenario_reader::text_of(const problem& p) const {
  if (p.dimension == problem::no_dimension || to_.resources.size() <= 1) return p.text;
  return p.text + " (" + to_.resources[p.dimension] + ')';
}

/// A problem names its quota. If several have that name, it concerns the first for which it can be true and
/// that no earlier problem of its kind concerned.
void scenario_reader::report_quotas(const problems& of_tree, const std::string& remark) {
  vector<const problem*> before;
  for (const problem& p : of_tree) {
    const bool of_names = p.code == problem_code::duplicate_name || p.code == problem_code::unknown_parent ||
                          p.code == problem_code::cycle;
    // Amounts that could not be read can't be compared.
    if (quotas_are_wrong_ && !of_names) continue;
    // Finding a place takes a while, and this one will only be counted.
    if (found_.size() >= errors::most_kept) {
      found_.add(to_.file, {}, {});
      continue;
    }
    auto skip = std::count_if(before.begin(), before.end(), [&](const problem* b) {
      return b->code == p.code && b->subject == p.subject && b->dimension == p.dimension;
    });
    before.push_back(&p);
    bool is_first = true;
    std::string place = "/quotas";
    for (std::size_t i = 0; i < to_.initial_quotas; ++i) {
      const quota_spec<max_resources>& s = to_.quotas[i].spec;
      if (s.name != p.subject) continue;
      bool possible = true;
      if (p.code == problem_code::duplicate_name) possible = !std::exchange(is_first, false);
      if (p.code == problem_code::unknown_parent) {
        possible = !s.parent.empty() && quota_ids_.find(s.parent) == quota_ids_.end();
      }
      if (!possible || skip-- > 0) continue;
      place += '/' + std::to_string(i) + '/' + p.field;
      break;
    }
    found_.add(to_.file, place, text_of(p) + remark);
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
