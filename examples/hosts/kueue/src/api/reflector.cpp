// SPDX-License-Identifier: BSL-1.0
#include "reflector.hpp"

#include <utility>

namespace allot_kueue {

namespace json = boost::json;

namespace {

/// A watch that ends sooner and has said nothing counts as a failure.
constexpr instant shortest_watch = 1000;
/// A server says something about once a minute, if only a bookmark, and a watch ends when it was agreed: else
/// it stands still, which TCP does not notice.
constexpr instant longest_silence = 150'000;

}  // namespace

reflector::reflector(api_server& server, resource of, object_handler& to, reflector_options options)
    : server_(server),
      of_(std::move(of)),
      to_(to),
      options_(std::move(options)),
      backoff_(options_.seed),
      list_backoff_(options_.seed + 1) {}

reflector::~reflector() {
  if (phase_ != phase::waiting) server_.drop(under_way_);
}

void reflector::step(const moment& m) {
  const instant now = m.steady;
  for (;;) {
    if (phase_ == phase::waiting) {
      if (now < due_) return;
      open(now);
    } else if (phase_ == phase::listing) {
      const std::optional<response> answer = server_.take(under_way_);
      if (!answer) return;
      on_page(*answer, now);
    } else if (on_watch(server_.read(under_way_), now)) {
      return;
    }
  }
}

request reflector::base() const {
  request r{method::get, of_.path(options_.in_namespace)};
  if (!options_.label_selector.empty()) r.query.emplace_back("labelSelector", options_.label_selector);
  if (!options_.field_selector.empty()) r.query.emplace_back("fieldSelector", options_.field_selector);
  return r;
}

void reflector::open(instant now) {
  request r = base();
  if (version_.empty()) {
    if (continue_.empty()) ++lists_;
    if (!is_unpaged_) r.query.emplace_back("limit", std::to_string(options_.page));
    if (!continue_.empty()) r.query.emplace_back("continue", continue_);
    under_way_ = server_.submit(std::move(r));
    phase_ = phase::listing;
    due_ = allot::without_end;
    return;
  }
  const instant span = backoff_.between(options_.watch, 2 * options_.watch);
  r.query.emplace_back("watch", "true");
  r.query.emplace_back("allowWatchBookmarks", "true");
  r.query.emplace_back("resourceVersion", version_);
  r.query.emplace_back("timeoutSeconds", std::to_string(span / 1000));
  under_way_ = server_.watch(std::move(r));
  phase_ = phase::watching;
  opened_ = now;
  has_heard_ = false;
  due_ = now + longest_silence;
}

void reflector::works() noexcept {
  backoff_.reset();
  is_anew_ = false;
  stale_since_.reset();
  problem_.clear();
}

void reflector::fail(std::string why, bool lists_anew, instant now, std::optional<instant> retry_after) {
  const phase was = std::exchange(phase_, phase::waiting);
  if (lists_anew) {
    version_.clear();
    continue_.clear();
  }
  // A server that says so is back: what counts is how often it says so.
  if (lists_anew && !std::exchange(is_anew_, true)) backoff_.reset();
  problem_ = std::move(why);
  if (!stale_since_) stale_since_ = now;
  due_ = now + (was == phase::listing ? list_backoff_ : backoff_).after_failure(retry_after);
}

void reflector::on_page(const response& answer, instant now) {
  outcome o = outcome_of(answer);
  const std::string where = "list of " + of_.plural + ": ";
  if (!o) {
    const bool has_expired = o.is == outcome::kind::gone && !continue_.empty();
    is_unpaged_ = is_unpaged_ || has_expired;
    // A page can be asked for again, unless its list is no longer kept.
    const bool can_resume = o.is == outcome::kind::away || o.is == outcome::kind::too_many_requests;
    fail(where + o.text, !can_resume, now, o.retry_after);
    return;
  }
  json::value* const items = o.object.if_contains("items");
  std::string version{text_at(o.object, {"metadata", "resourceVersion"})};
  if (items == nullptr || version.empty() || !(items->is_array() || items->is_null())) {
    fail(where + "an answer without items or version", true, now);
    return;
  }
  if (items->is_array()) {
    for (json::value& item : items->get_array()) {
      if (!item.is_object() || !set(std::move(item.get_object()))) {
        fail(where + "an object without a name or version", true, now);
        return;
      }
    }
  }
  continue_ = text_at(o.object, {"metadata", "continue"});
  list_backoff_.reset();
  phase_ = phase::waiting;
  due_ = now;
  if (continue_.empty()) {
    version_ = std::move(version);
    end_list();
  }
}

void reflector::end_list() {
  std::vector<object_name> missing;
  for (const auto& [key, e] : known_) {
    if (e.seen != lists_) missing.push_back(e.name);
  }
  for (const object_name& name : missing) gone(name, version_);
  is_unpaged_ = false;
  is_synced_ = true;
  stale_since_.reset();
  problem_.clear();
  to_.on_synced();
}

bool reflector::on_watch(const watch_reading& reading, instant now) {
  for (const std::string& line : reading.lines) {
    if (!on_line(line, now)) {
      if (!reading.is_over) server_.drop(under_way_);
      return false;
    }
  }
  const bool is_old = now - opened_ >= shortest_watch;
  if (has_heard_ || (is_old && reading.is_open)) works();
  if (!reading.is_over) {
    if (now < due_) return true;
    server_.drop(under_way_);
    fail("watch of " + of_.plural + ": nothing has come for long", false, now);
    return false;
  }
  const response& end = reading.end;
  if (end.status == 200 && end.problem.empty() && is_old) {
    works();
    phase_ = phase::waiting;
    due_ = now;
    return false;
  }
  outcome o = end.status == 200
                  ? outcome{outcome::kind::away, end.problem.empty() ? "it ended at once" : end.problem}
                  : outcome_of(end);
  // 500 and 504 are also the answers to a version that the server can't read, or does not have yet.
  const bool can_resume = (o.is == outcome::kind::away && end.status != 500 && end.status != 504) ||
                          o.is == outcome::kind::too_many_requests || o.is == outcome::kind::forbidden;
  fail("watch of " + of_.plural + ": " + o.text, !can_resume, now, o.retry_after);
  return false;
}

bool reflector::on_line(std::string_view line, instant now) {
  const std::string where = "watch of " + of_.plural + ": ";
  std::optional<json::object> event = parse_object(line);
  json::value* const object = event ? event->if_contains("object") : nullptr;
  // Lists anew: from the same version the same line would come again.
  if (object == nullptr || !object->is_object()) {
    fail(where + "a line that is no event", true, now);
    return false;
  }
  const std::string_view type = text_at(*event, {"type"});
  if (type == "ERROR") {
    const outcome o = outcome_of_status(object->get_object());
    fail(where + o.text, true, now, o.retry_after);
    return false;
  }
  std::string version{text_at(object->get_object(), {"metadata", "resourceVersion"})};
  bool is_read = !version.empty();
  if (type == "DELETED") {
    gone(name_of(object->get_object()), version);
  } else if (type == "ADDED" || type == "MODIFIED") {
    is_read = is_read && set(std::move(object->get_object()));
  } else {
    is_read = is_read && type == "BOOKMARK";
  }
  if (!is_read) {
    fail(where + "an event that can't be understood", true, now);
    return false;
  }
  version_ = std::move(version);
  has_heard_ = true;
  due_ = now + longest_silence;
  return true;
}

bool reflector::set(json::object object) {
  const object_name name = name_of(object);
  std::string version{text_at(object, {"metadata", "resourceVersion"})};
  std::string uid{text_at(object, {"metadata", "uid"})};
  if (name.name.empty() || version.empty()) return false;
  const auto at = known_.find(name.text());
  if (at != known_.end() && at->second.uid == uid && at->second.version == version) {
    at->second.seen = lists_;
    return true;
  }
  if (at != known_.end() && at->second.uid != uid) to_.on_gone(name, version);
  known_[name.text()] = {name, std::move(uid), std::move(version), lists_};
  to_.on_set(std::move(object));
  return true;
}

void reflector::gone(const object_name& name, std::string_view version) {
  if (known_.erase(name.text()) > 0) to_.on_gone(name, version);
}

}  // namespace allot_kueue
