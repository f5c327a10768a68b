// SPDX-License-Identifier: BSL-1.0
#include "lease.hpp"

#include <allot/core/assert.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace allot_kueue {

namespace json = boost::json;

resource leases() {
  return {"coordination.k8s.io/v1", "Lease", "leases"};
}

namespace {

[[nodiscard]] json::object spec_of(const json::object& lease) {
  const json::value* const spec = lease.if_contains("spec");
  return spec != nullptr && spec->is_object() ? spec->get_object() : json::object{};
}

[[nodiscard]] std::int64_t number_in(const json::object& from, std::string_view key) {
  const json::value* const v = from.if_contains(key);
  return v != nullptr && v->is_int64() ? v->get_int64() : 0;
}

}  // namespace

lease::lease(api_server& server, lease_options options)
    : server_(server), options_(std::move(options)), backoff_(options_.seed, options_.retry, options_.retry) {
  ALLOT_ASSERT(!options_.identity.empty(), "the identity of a candidate must not be empty");
  ALLOT_ASSERT(options_.retry < options_.renew_deadline && options_.renew_deadline < options_.duration,
               "a lease is renewed more often than it expires");
}

lease::~lease() {
  if (asked_ != asked::nothing) server_.drop(under_way_);
}

void lease::release() noexcept {
  is_releasing_ = true;
  due_ = 0;
}

std::string_view lease::holder() const noexcept {
  return text_at(seen_, {"spec", "holderIdentity"});
}

std::string_view lease::note(std::string_view name) const noexcept {
  return text_at(seen_, {"metadata", "annotations", name});
}

void lease::retry(instant now) {
  due_ = now + backoff_.after_failure();
}

void lease::step(const moment& now) {
  if (asked_ != asked::nothing) {
    if (const auto answer = server_.take(under_way_)) {
      on_answer(*answer, now.steady);
    } else if (now.steady - sent_ >= options_.renew_deadline) {
      server_.drop(under_way_);
      on_answer({0, {}, {}, "no answer in time"}, now.steady);
    }
  }
  if (asked_ == asked::nothing && now.steady >= due_ && !is_released_) begin(now);
}

void lease::begin(const moment& now) {
  if (is_to_read_) return read(now);
  const bool is_free = holder().empty();
  if (is_releasing_) {
    is_released_ = !is_mine();
    if (!is_released_) write(now);
    return;
  }
  const json::object spec = spec_of(seen_);
  const std::int64_t said = number_in(spec, "leaseDurationSeconds");
  // What its holder has promised to keep to.
  const instant duration = said > 0 ? 1000 * std::min<std::int64_t>(said, 86'400) : options_.duration;
  if (is_mine() || is_free || now.steady - seen_since_ >= duration) return write(now);
  read(now);
}

void lease::read(const moment& now) {
  send(asked::current, get(leases(), options_.name), now.steady);
}

void lease::write(const moment& now) {
  json::object next = seen_;
  json::object spec = spec_of(next);
  // Others wait from when they see it change: it has to, even if the clock stands.
  renewed_micros_ = std::max(1000 * now.wall, renewed_micros_ + 1);
  const std::string time = micro_time_text(renewed_micros_);
  if (!is_mine()) {
    spec["acquireTime"] = time;
    if (!next.empty()) spec["leaseTransitions"] = number_in(spec, "leaseTransitions") + 1;
  }
  spec["holderIdentity"] = is_releasing_ ? std::string{} : options_.identity;
  spec["leaseDurationSeconds"] = is_releasing_ ? 1 : (options_.duration + 999) / 1000;
  spec["renewTime"] = time;
  next["spec"] = std::move(spec);
  has_written_ = true;
  if (seen_.empty()) {
    next["spec"].get_object()["leaseTransitions"] = 0;
    next["metadata"] = {{"name", options_.name.name}, {"namespace", options_.name.space}};
    return send(asked::write, create(leases(), std::move(next)), now.steady);
  }
  send(asked::write, replace(leases(), std::move(next)), now.steady);
}

void lease::send(asked what, request r, instant now) {
  asked_ = what;
  sent_ = now;
  // There is time for another attempt.
  r.timeout = options_.renew_deadline / 2;
  under_way_ = server_.submit(std::move(r));
}

void lease::on_answer(const response& answer, instant now) {
  const bool has_written = std::exchange(asked_, asked::nothing) == asked::write;
  outcome o = outcome_of(answer);
  problem_ = o ? std::string{} : "lease " + options_.name.text() + ": " + o.text;
  if (o) {
    observe(std::move(o.object), now);
    // By when it was sent: others can't have seen it earlier.
    if (has_written && is_mine()) {
      valid_until_ = sent_ + options_.renew_deadline;
      if (!std::exchange(is_held_, true)) ++terms_;
    }
    backoff_.reset();
    const bool goes_on = is_releasing_ || (!has_written && is_mine());
    return goes_on ? static_cast<void>(due_ = now) : retry(now);
  }
  if (o.is == outcome::kind::not_found && !has_written) {
    observe({}, now);
    problem_.clear();
    due_ = now;
    return;
  }
  // What was asked for may have been done, or someone else was faster.
  is_to_read_ = true;
  if (o.is == outcome::kind::conflict || o.is == outcome::kind::exists || o.is == outcome::kind::not_found) {
    due_ = now;
  } else {
    retry(now);
    if (o.retry_after) due_ = std::max(due_, now + std::min(*o.retry_after, options_.duration));
  }
}

void lease::observe(json::object current, instant now) {
  if (spec_of(seen_) != spec_of(current)) seen_since_ = now;
  seen_ = std::move(current);
  is_to_read_ = false;
  if (is_mine()) return;
  is_held_ = false;
  valid_until_ = std::numeric_limits<instant>::min();
}

}  // namespace allot_kueue
