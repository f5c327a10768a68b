// SPDX-License-Identifier: BSL-1.0
//
// A Kubernetes API that is made up, in memory, with faults. Time passes when the test says so, and while one
// waits.
#pragma once

#include "../src/api/objects.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace allot_test {

namespace json = boost::json;
using allot_kueue::instant;
using allot_kueue::method;
using allot_kueue::request;
using allot_kueue::response;
using allot_kueue::ticket;
using allot_kueue::watch_reading;

/// How often something goes wrong: once in so many times; 0: never.
struct api_faults {
  std::size_t lost_request = 0;
  std::size_t lost_answer = 0;
  /// Of writes: they are carried out seconds after their client has given up.
  std::size_t late = 0;
  std::size_t too_many = 0;
  std::size_t broken = 0;
  /// Of watches, for each reading.
  std::size_t cut = 0;
  std::size_t malformed = 0;
  std::size_t gone = 0;
  /// Of continue tokens.
  std::size_t expired = 0;
  /// Until a request arrives, and again until its answer does; of watches, until events do.
  instant slowest = 0;
  /// How late watches are.
  instant lag = 0;
};

class fake_api final : public allot_kueue::api_server {
 public:
  explicit fake_api(std::uint64_t seed = 0) : random_(seed) {}

  api_faults faults{};
  /// Conditions that two managers have applied: neither of them can remove such a one.
  std::set<std::string> contested;
  instant now = 0;
  /// All that arrived, in order: "GET /api/v1/pods?limit=500".
  std::vector<std::string> requests{};

  // What a test does to it.

  /// Sets an object as it is, but for its version, and its uid if it is new.
  void set(const allot_kueue::resource& of, json::object object) {
    const auto name = allot_kueue::name_of(object);
    const key k{of.path(), name.space, name.name};
    object["apiVersion"] = of.api_version;
    object["kind"] = of.kind;
    store(k, std::move(object));
  }
  void remove(const allot_kueue::resource& of, const allot_kueue::object_name& name) {
    erase({of.path(), name.space, name.name});
  }
  [[nodiscard]] const json::object* find(const allot_kueue::resource& of,
                                         const allot_kueue::object_name& name) const {
    const auto at = objects_.find({of.path(), name.space, name.name});
    return at == objects_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] std::map<std::string, std::string> versions(const allot_kueue::resource& of) const {
    std::map<std::string, std::string> all;
    for (const auto& [k, o] : objects_) {
      if (std::get<0>(k) == of.path()) all[allot_kueue::name_of(o).text()] = version_of(o);
    }
    return all;
  }
  /// Forgets history: who watches from before, or continues a list, is told so.
  void compact() {
    kept_from_ = version_;
    lists_.clear();
    // Watches that have seen all so far go on.
    for (auto& [t, w] : watches_) w.is_compacted = w.from < kept_from_;
    log_.clear();
  }
  /// What is late is never carried out.
  void lose_late() {
    std::erase_if(sent_, [](const auto& s) { return s.second.is_dropped; });
  }
  void advance(instant by) {
    now += by;
    settle();
  }
  [[nodiscard]] std::size_t open_watches() const { return watches_.size(); }
  [[nodiscard]] std::size_t count(const std::string& part) const {
    return static_cast<std::size_t>(
        std::count_if(requests.begin(), requests.end(),
                      [&](const std::string& r) { return r.find(part) != std::string::npos; }));
  }

  // What it is to the host.

  [[nodiscard]] ticket submit(request r) override {
    const ticket t{++last_};
    sent s{std::move(r), now + delay(), 0};
    s.answer_at = s.arrive_at + delay();
    s.is_lost = hits(faults.lost_request);
    s.is_answer_lost = hits(faults.lost_answer);
    if (s.what.how != method::get && hits(faults.late)) {
      s.is_lost = true;
      sent again{s.what, now + random_.between(1, 6000), 0};
      again.is_dropped = true;
      sent_.emplace(ticket{++last_}, std::move(again));
    }
    sent_.emplace(t, std::move(s));
    settle();
    return t;
  }
  [[nodiscard]] std::optional<response> take(ticket t) override {
    const auto at = sent_.find(t);
    if (at == sent_.end()) return response{0, {}, {}, "there is no such request"};
    if (!at->second.is_done || now < at->second.answer_at) return std::nullopt;
    response answer = std::move(at->second.answer);
    sent_.erase(at);
    return answer;
  }
  [[nodiscard]] ticket watch(request r) override {
    const ticket t{++last_};
    requests.push_back("WATCH " + r.target());
    watching w{place_of(r.path)};
    w.from = std::stoull(argument(r, "resourceVersion"));
    w.end = now + 1000 * std::stoll(argument(r, "timeoutSeconds"));
    w.is_compacted = w.from < kept_from_;
    if (hits(faults.lost_request)) w.refusal = response{0, {}, {}, "connection refused"};
    if (!w.refusal) w.refusal = trouble();
    watches_.emplace(t, std::move(w));
    return t;
  }
  [[nodiscard]] watch_reading read(ticket t) override {
    const auto at = watches_.find(t);
    if (at == watches_.end()) return {{}, false, true, {0, {}, {}, "there is no such watch"}};
    watch_reading r = read(at->second);
    if (r.is_over) watches_.erase(at);
    return r;
  }
  void drop(ticket t) override {
    watches_.erase(t);
    // Carried out all the same.
    if (const auto at = sent_.find(t); at != sent_.end()) at->second.is_dropped = true;
  }
  void perform(instant wait, std::span<const int> = {}) override { advance(wait); }
  void await_any(std::span<const ticket> some, const std::function<void()>& meanwhile) override {
    const auto is_open = [&](ticket t) {
      const auto at = sent_.find(t);
      return at != sent_.end() && (!at->second.is_done || now < at->second.answer_at);
    };
    while (!some.empty() && std::all_of(some.begin(), some.end(), is_open)) {
      advance(1);
      meanwhile();
    }
  }

 private:
  /// Collection, namespace, name.
  using key = std::tuple<std::string, std::string, std::string>;
  struct place {
    std::string collection;
    std::string space;
    std::string name;
    std::string subresource;
  };
  struct sent {
    request what;
    instant arrive_at = 0;
    instant answer_at = 0;
    bool is_lost = false;
    bool is_answer_lost = false;
    bool is_done = false;
    bool is_dropped = false;
    response answer{};
  };
  struct watching {
    place of;
    std::uint64_t from = 0;
    instant end = 0;
    bool is_compacted = false;
    std::optional<response> refusal{};
  };
  struct logged {
    std::uint64_t version = 0;
    key what;
    std::string type;
    json::object object;
    instant at = 0;
  };
  struct snapshot {
    std::uint64_t version = 0;
    std::vector<json::object> rest;
  };

  [[nodiscard]] static std::string version_of(const json::object& o) {
    return std::string{allot_kueue::text_at(o, {"metadata", "resourceVersion"})};
  }
  [[nodiscard]] static std::string argument(const request& r, const std::string& name) {
    for (const auto& [k, v] : r.query) {
      if (k == name) return v;
    }
    return {};
  }
  [[nodiscard]] bool hits(std::size_t one_in) { return one_in != 0 && random_.one_in(one_in); }
  [[nodiscard]] instant delay() { return faults.slowest == 0 ? 0 : random_.between(0, faults.slowest); }

  [[nodiscard]] static response refused(int status, const std::string& reason, const std::string& message) {
    const json::object o = {{"kind", "Status"},
                            {"status", "Failure"},
                            {"reason", reason},
                            {"message", message},
                            {"code", status}};
    return {status, json::serialize(o)};
  }
  [[nodiscard]] std::optional<response> trouble() {
    if (hits(faults.too_many)) {
      response r = refused(429, "TooManyRequests", "slow down");
      r.retry_after = 1000;
      return r;
    }
    if (hits(faults.broken)) return response{503, "upstream is away"};
    return std::nullopt;
  }

  /// "/apis/GROUP/VERSION[/namespaces/SPACE]/PLURAL[/NAME[/SUBRESOURCE]]".
  [[nodiscard]] static place place_of(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t at = 1; at <= path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      parts.push_back(path.substr(at, end - at));
      at = end + 1;
    }
    std::size_t i = parts.at(0) == "api" ? 2 : 3;
    place p;
    for (std::size_t k = 0; k < i; ++k) p.collection += '/' + parts.at(k);
    if (parts.at(i) == "namespaces" && i + 2 < parts.size()) {
      p.space = parts[i + 1];
      i += 2;
    }
    p.collection += '/' + parts.at(i);
    if (i + 1 < parts.size()) p.name = parts[i + 1];
    if (i + 2 < parts.size()) p.subresource = parts[i + 2];
    return p;
  }

  /// Not in their order.
  [[nodiscard]] std::string new_uid() {
    const auto scrambled = static_cast<std::uint32_t>(++uids_ * 2654435761U);
    std::string digits;
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[scrambled >> shift & 15U];
    return digits + "-0000-4000-8000-000000000000";
  }
  void note(const key& k, const char* type, const json::object& o) {
    log_.push_back({version_, k, type, o, now});
  }
  const json::object& store(const key& k, json::object object) {
    const auto at = objects_.find(k);
    const bool is_new = at == objects_.end();
    json::value& m = object["metadata"];
    json::object& metadata = m.is_object() ? m.get_object() : m.emplace_object();
    metadata["name"] = std::get<2>(k);
    if (!std::get<1>(k).empty()) metadata["namespace"] = std::get<1>(k);
    if (is_new) metadata["uid"] = new_uid();
    if (!is_new) {
      metadata["uid"] = at->second.at("metadata").at("uid");
      metadata["resourceVersion"] = version_of(at->second);
      // What changes nothing makes no new version.
      if (object == at->second) return at->second;
    }
    metadata["resourceVersion"] = std::to_string(++version_);
    json::object& kept = objects_[k] = std::move(object);
    note(k, is_new ? "ADDED" : "MODIFIED", kept);
    return kept;
  }
  void erase(const key& k) {
    const auto at = objects_.find(k);
    if (at == objects_.end()) return;
    json::object last = std::move(at->second);
    objects_.erase(at);
    std::erase_if(applied_, [&](const auto& a) { return a.first.first == k; });
    last["metadata"].get_object()["resourceVersion"] = std::to_string(++version_);
    note(k, "DELETED", last);
  }

  /// Carries out what has arrived, in the order of arrival.
  void settle() {
    for (;;) {
      auto next = sent_.end();
      for (auto at = sent_.begin(); at != sent_.end(); ++at) {
        const bool is_due = !at->second.is_done && at->second.arrive_at <= now;
        if (is_due && (next == sent_.end() || at->second.arrive_at < next->second.arrive_at)) next = at;
      }
      if (next == sent_.end()) break;
      sent& s = next->second;
      s.is_done = true;
      if (!s.is_lost) {
        static const char* const words[] = {"GET ", "POST ", "PUT ", "PATCH ", "DELETE "};
        requests.push_back(words[static_cast<std::size_t>(s.what.how)] + s.what.target());
        const auto why = trouble();
        s.answer = why ? *why : carry_out(s.what);
      }
      if (s.is_lost || s.is_answer_lost) {
        s.answer = {0, {}, {}, "connection reset"};
        s.answer_at += faults.slowest;
      }
      if (s.is_dropped) sent_.erase(next);
    }
    std::erase_if(sent_, [](const auto& s) { return s.second.is_done && s.second.is_dropped; });
  }

  [[nodiscard]] response carry_out(const request& r) {
    const place p = place_of(r.path);
    if (p.name.empty() && r.how == method::get) return list(p, r);
    const auto body = r.body.empty() ? json::object{} : allot_kueue::parse_object(r.body).value();
    const std::string name = p.name.empty() ? allot_kueue::name_of(body).name : p.name;
    const key k{p.collection, p.space, name};
    const auto at = objects_.find(k);
    if (r.how == method::post) {
      if (at != objects_.end()) return refused(409, "AlreadyExists", name + " already exists");
      return {201, json::serialize(store(k, body))};
    }
    if (at == objects_.end()) return refused(404, "NotFound", name + " not found");
    if (r.how == method::get) return {200, json::serialize(at->second)};
    if (r.how == method::remove) {
      const std::string last = json::serialize(at->second);
      erase(k);
      return {200, last};
    }
    if (const std::string said = version_of(body); !said.empty() && said != version_of(at->second)) {
      return refused(409, "Conflict", "the object has been modified");
    }
    json::object next = at->second;
    if (r.how == method::put && p.subresource.empty()) {
      next = body;
    } else if (r.how == method::put) {
      next[p.subresource] = body.at(p.subresource);
    } else {
      json::object patch = body;
      if (!p.subresource.empty()) patch = {{p.subresource, body.at(p.subresource)}};
      if (r.content_type == "application/apply-patch+yaml") {
        apply(next, k, patch, argument(r, "fieldManager"));
      } else {
        merge(next, patch, false);
      }
    }
    return {200, json::serialize(store(k, std::move(next)))};
  }

  /// What makes an element of a list with such a name the same one; empty: the list is a value.
  [[nodiscard]] static std::string_view key_in(std::string_view list) {
    if (list == "conditions") return "type";
    return list == "podSetAssignments" || list == "admissionChecks" ? "name" : "";
  }
  [[nodiscard]] static json::array::iterator find_in(json::array& all, std::string_view key,
                                                     const json::value& like) {
    return std::find_if(all.begin(), all.end(),
                        [&](const json::value& v) { return v.at(key) == like.at(key); });
  }

  static void merge(json::object& to, const json::object& patch, bool applies) {
    for (const auto& [name, v] : patch) {
      const std::string_view key = applies ? key_in(name) : "";
      if (v.is_null()) {
        to.erase(name);
      } else if (v.is_object()) {
        json::value& inner = to[name];
        merge(inner.is_object() ? inner.get_object() : inner.emplace_object(), v.get_object(), applies);
      } else if (!key.empty() && to[name].is_array()) {
        json::array& all = to[name].get_array();
        for (const json::value& element : v.get_array()) {
          const auto same = find_in(all, key, element);
          if (same == all.end()) {
            all.push_back(element);
          } else {
            merge(same->get_object(), element.get_object(), true);
          }
        }
      } else {
        to[name] = v;
      }
    }
  }
  /// Removes what was applied and is no longer.
  static void prune(json::object& from, const json::object& before, const json::object& after) {
    for (const auto& [name, v] : before) {
      json::value* const at = from.if_contains(name);
      const json::value* const still = after.if_contains(name);
      if (at == nullptr) continue;
      const std::string_view key = key_in(name);
      if (still == nullptr && key.empty()) {
        from.erase(name);
      } else if (v.is_object() && at->is_object()) {
        prune(at->get_object(), v.get_object(), still->get_object());
      } else if (!key.empty() && at->is_array()) {
        json::array kept = still == nullptr ? json::array{} : still->get_array();
        for (const json::value& element : v.get_array()) {
          json::array& all = at->get_array();
          const auto there = find_in(all, key, element);
          const auto same = find_in(kept, key, element);
          if (there == all.end()) continue;
          if (same == kept.end()) {
            all.erase(there);
          } else {
            prune(there->get_object(), element.get_object(), same->get_object());
          }
        }
      }
    }
  }
  void note_contested(const key& k, const json::object& patch, const std::string& manager) {
    for (const auto& [of, before] : applied_) {
      if (of.first != k || of.second == manager) continue;
      for (const json::value& c : conditions_in(patch)) {
        json::array theirs = conditions_in(before);
        if (find_in(theirs, "type", c) != theirs.end())
          contested.insert(json::value_to<std::string>(c.at("type")) + " by " + manager + " and " +
                           of.second);
      }
    }
  }
  [[nodiscard]] static json::array conditions_in(const json::object& applied) {
    const json::value* const status = applied.if_contains("status");
    const json::value* const all =
        status == nullptr ? nullptr : status->as_object().if_contains("conditions");
    return all == nullptr ? json::array{} : all->as_array();
  }
  /// Server-side apply, but that nobody objects: it is always by force, and what is taken from another
  /// manager still counts as its own, too.
  void apply(json::object& to, const key& k, const json::object& patch, const std::string& manager) {
    note_contested(k, patch, manager);
    json::object& before = applied_[{k, manager}];
    prune(to, before, patch);
    merge(to, patch, true);
    before = patch;
  }

  [[nodiscard]] response list(const place& p, const request& r) {
    const std::string limit = argument(r, "limit");
    const std::string token = argument(r, "continue");
    snapshot s{version_, {}};
    if (token.empty()) {
      for (const auto& [k, o] : objects_) {
        const bool is_in = std::get<0>(k) == p.collection && (p.space.empty() || std::get<1>(k) == p.space);
        if (is_in) s.rest.push_back(o);
      }
    } else {
      const auto at = lists_.find(token);
      if (at == lists_.end() || hits(faults.expired)) return refused(410, "Expired", "the list is too old");
      s = at->second;
    }
    const std::size_t size = std::min(limit.empty() ? s.rest.size() : std::stoul(limit), s.rest.size());
    json::array items(s.rest.begin(), s.rest.begin() + static_cast<std::ptrdiff_t>(size));
    s.rest.erase(s.rest.begin(), s.rest.begin() + static_cast<std::ptrdiff_t>(size));
    json::object metadata = {{"resourceVersion", std::to_string(s.version)}};
    if (!s.rest.empty()) {
      const std::string next = "token-" + std::to_string(++last_);
      metadata["continue"] = next;
      lists_[next] = std::move(s);
    }
    return {200, json::serialize(json::object{{"kind", "List"}, {"metadata", metadata}, {"items", items}})};
  }

  [[nodiscard]] watch_reading read(watching& w) {
    if (w.refusal) return {{}, false, true, *w.refusal};
    if (hits(faults.cut)) return {{}, true, true, {200, {}, {}, "connection reset"}};
    if (hits(faults.malformed)) return {{R"({"type":"ADDED","object)"}, true, false, {}};
    if (w.is_compacted || hits(faults.gone)) {
      const response r = refused(410, "Expired", "too old resource version");
      if (random_.one_in(2)) return {{}, false, true, r};
      return {{R"({"type":"ERROR","object":)" + r.body + '}'}, true, false, {}};
    }
    watch_reading r;
    for (const logged& e : log_) {
      if (e.version <= w.from) continue;
      // Events come in order, and late.
      if (e.at + faults.lag + delay() > now) break;
      const bool is_in =
          std::get<0>(e.what) == w.of.collection && (w.of.space.empty() || std::get<1>(e.what) == w.of.space);
      w.from = e.version;
      if (is_in) r.lines.push_back(json::serialize(json::object{{"type", e.type}, {"object", e.object}}));
    }
    if (r.lines.empty() && w.from == version_ && random_.one_in(8)) {
      r.lines.push_back(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
                        std::to_string(w.from) + R"("}}})");
    }
    r.is_open = true;
    r.is_over = now >= w.end;
    if (r.is_over) r.end.status = 200;
    return r;
  }

  random_source random_;
  std::uint64_t last_ = 0;
  std::uint64_t version_ = 100;
  std::uint64_t uids_ = 0;
  std::uint64_t kept_from_ = 0;
  std::map<key, json::object> objects_;
  /// By object and field manager.
  std::map<std::pair<key, std::string>, json::object> applied_;
  std::deque<logged> log_;
  std::map<std::string, snapshot> lists_;
  std::map<ticket, sent> sent_;
  std::map<ticket, watching> watches_;
};

}  // namespace allot_test
