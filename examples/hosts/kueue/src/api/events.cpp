// SPDX-License-Identifier: BSL-1.0
#include "events.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace allot_kueue {

namespace json = boost::json;

namespace {

/// What the API server accepts.
constexpr std::size_t longest_message = 1024;
constexpr std::size_t longest_name = 253;

[[nodiscard]] resource events() {
  return {"v1", "Event", "events"};
}

/// Whole characters that fit.
[[nodiscard]] std::string cut(std::string_view text, std::size_t most) {
  constexpr std::string_view dots = "...";
  if (text.size() <= most) return std::string{text};
  std::size_t size = most - dots.size();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80) --size;
  return std::string{text.substr(0, size)}.append(dots);
}

/// Events about what is in no namespace are in this one.
[[nodiscard]] std::string space_of(const object_reference& about) {
  return about.name.space.empty() ? "default" : about.name.space;
}

}  // namespace

event_writer::event_writer(api_server& server, event_options options)
    : server_(server), options_(std::move(options)), backoff_(options_.seed, 1000) {}

event_writer::~event_writer() {
  for (const entry& e : entries_) {
    if (e.writing > 0) server_.drop(e.under_way);
  }
}

void event_writer::tell(const object_reference& about, std::string_view type, std::string_view reason,
                        std::string_view message, const moment& now) {
  key what{about.uid, std::string{type}, std::string{reason}, cut(message, longest_message)};
  auto at = by_key_.find(what);
  if (at != by_key_.end() && now.steady - at->second->last > options_.window &&
      at->second->written == at->second->count) {
    forget(at->second);
    at = by_key_.end();
  }
  if (at == by_key_.end()) {
    make_room(now.steady);
    entries_.push_back({what, about, {}, now.wall});
    at = by_key_.emplace(std::move(what), std::prev(entries_.end())).first;
  }
  entry& e = *at->second;
  e.last_wall = now.wall;
  e.last = now.steady;
  ++e.count;
  if (!std::exchange(e.is_open, true)) open_.push_back(at->second);
  entries_.splice(entries_.end(), entries_, at->second);
  due_ = std::min(due_, std::max(now.steady, not_before_));
}

void event_writer::forget(std::list<entry>::iterator e) {
  if (e->writing > 0) {
    server_.drop(e->under_way);
    --under_way_;
  }
  if (e->is_open) std::erase(open_, e);
  by_key_.erase(e->what);
  entries_.erase(e);
}

void event_writer::make_room(instant now) {
  while (entries_.size() >= options_.most) {
    dropped_ += static_cast<std::uint64_t>(entries_.front().count - entries_.front().written);
    forget(entries_.begin());
  }
  if (buckets_.size() < options_.most) return;
  // Those that are full again are as new ones.
  const instant full = options_.burst * options_.refill;
  std::erase_if(buckets_, [&](const auto& b) { return now - b.second.since >= full; });
  if (buckets_.size() >= options_.most) buckets_.clear();
}

instant event_writer::take_token(const std::string& uid, instant now) {
  bucket& b = buckets_.try_emplace(uid, bucket{options_.burst, now}).first->second;
  const std::int64_t more = (now - b.since) / options_.refill;
  b.tokens = std::min(options_.burst, b.tokens + more);
  b.since += more * options_.refill;
  if (b.tokens == 0) return b.since + options_.refill;
  --b.tokens;
  return now;
}

request event_writer::write(entry& e) {
  json::object o = {{"count", e.count}, {"lastTimestamp", time_text(e.last_wall)}};
  e.writing = e.count;
  if (e.written > 0) return merge_patch(events(), {space_of(e.about), e.name}, std::move(o));
  if (e.name.empty()) {
    // Not the name of an event of another time or process.
    const std::string suffix =
        fmt::format(".{:x}{:06x}{:04x}", e.first_wall, backoff_.between(0, 0xffffff), names_++ & 0xffffU);
    e.name = e.about.name.name.substr(0, longest_name - suffix.size()) + suffix;
  }
  o["metadata"] = {{"name", e.name}, {"namespace", space_of(e.about)}};
  o["involvedObject"] = {{"apiVersion", e.about.api_version},
                         {"kind", e.about.kind},
                         {"namespace", e.about.name.space},
                         {"name", e.about.name.name},
                         {"uid", e.about.uid}};
  o["type"] = std::get<1>(e.what);
  o["reason"] = std::get<2>(e.what);
  o["message"] = std::get<3>(e.what);
  o["firstTimestamp"] = time_text(e.first_wall);
  o["source"] = {{"component", options_.component}};
  o["reportingComponent"] = options_.component;
  o["reportingInstance"] = options_.instance;
  return create(events(), std::move(o));
}

void event_writer::on_answer(entry& e, const response& answer, instant now) {
  const bool was_new = e.written == 0;
  const std::int64_t writing = std::exchange(e.writing, 0);
  --under_way_;
  const outcome o = outcome_of(answer);
  using enum outcome::kind;
  // One that exists already is from a creation whose answer was lost: its count is written over.
  if (o.is == done || (was_new && o.is == exists)) {
    e.written = o.is == done ? writing : 1;
    problem_.clear();
    backoff_.reset();
    return;
  }
  problem_ = "event for " + e.about.kind + ' ' + e.about.name.text() + ": " + o.text;
  // It was kept for long enough, and is made anew.
  if (o.is == not_found && !was_new) {
    e.written = 0;
  } else if (o.is == away || o.is == too_many_requests || o.is == conflict) {
    not_before_ = now + backoff_.after_failure(o.retry_after);
  } else {
    dropped_ += static_cast<std::uint64_t>(writing - e.written);
    e.written = writing;
  }
}

void event_writer::step(const moment& m) {
  const instant now = m.steady;
  for (const auto& e : open_) {
    if (e->writing == 0) continue;
    if (const auto answer = server_.take(e->under_way)) on_answer(*e, *answer, now);
  }
  std::erase_if(open_, [](const auto& e) {
    e->is_open = e->writing > 0 || e->count != e->written;
    return !e->is_open;
  });
  due_ = allot::without_end;
  for (const auto& at : open_) {
    entry& e = *at;
    if (e.writing > 0) continue;
    const instant next = now < not_before_                ? not_before_
                         : under_way_ >= options_.at_once ? allot::without_end
                                                          : take_token(std::get<0>(e.what), now);
    due_ = std::min(due_, next > now ? next : due_);
    if (next > now) continue;
    e.under_way = server_.submit(write(e));
    ++under_way_;
  }
}

}  // namespace allot_kueue
