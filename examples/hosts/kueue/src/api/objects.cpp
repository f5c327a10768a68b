// SPDX-License-Identifier: BSL-1.0
#include "objects.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <allot/lab/timestamp.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace allot_kueue {

namespace json = boost::json;

namespace {

/// Ownership of fields nests twice as deep as the object itself.
constexpr std::size_t deepest = 128;
constexpr std::size_t longest_excerpt = 200;

[[nodiscard]] std::string path_of(const resource& of, const object_name& name, std::string_view subresource) {
  std::string path = of.path(name.space) + '/' + percent_encoded(name.name);
  if (!subresource.empty()) path.append(1, '/').append(subresource);
  return path;
}

[[nodiscard]] request with_body(method how, std::string path, std::string_view type,
                                const json::object& body) {
  return {how, std::move(path), {}, std::string{type}, json::serialize(body)};
}

void set_kind(json::object& object, const resource& of) {
  object["apiVersion"] = of.api_version;
  object["kind"] = of.kind;
}

/// The member as an object, which it is made if it is none.
[[nodiscard]] json::object& object_in(json::object& parent, std::string_view key) {
  json::value& v = parent[key];
  return v.is_object() ? v.get_object() : v.emplace_object();
}

[[nodiscard]] outcome::kind kind_of(int status, std::string_view reason) {
  using enum outcome::kind;
  switch (status) {
    case 401:
    case 403:
      return forbidden;
    case 404:
      return not_found;
    case 409:
      return reason == "AlreadyExists" ? exists : conflict;
    case 410:
      return gone;
    case 422:
      return unprocessable;
    case 429:
      return too_many_requests;
    // A request that took too long may be repeated.
    case 408:
      return away;
    default:
      return status == 0 || status >= 500 ? away : refused;
  }
}

[[nodiscard]] std::string excerpt_of(std::string_view body) {
  std::size_t size = std::min(body.size(), longest_excerpt);
  // No character is cut in two.
  while (size < body.size() && size > 0 && (static_cast<unsigned char>(body[size]) & 0xC0U) == 0x80) --size;
  return std::string{body.substr(0, size)};
}

}  // namespace

std::string resource::path(std::string_view in_namespace) const {
  std::string p = api_version.find('/') == std::string::npos ? "/api/" : "/apis/";
  p += api_version;
  if (!in_namespace.empty()) p.append("/namespaces/").append(percent_encoded(in_namespace));
  return p.append(1, '/').append(plural);
}

std::string_view text_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::object* at = &from;
  const json::value* v = nullptr;
  for (const std::string_view key : path) {
    v = at == nullptr ? nullptr : at->if_contains(key);
    if (v == nullptr) return {};
    at = v->if_object();
  }
  const json::string* const text = v == nullptr ? nullptr : v->if_string();
  return text == nullptr ? std::string_view{} : std::string_view{text->data(), text->size()};
}

object_name name_of(const json::object& object) {
  return {std::string{text_at(object, {"metadata", "namespace"})},
          std::string{text_at(object, {"metadata", "name"})}};
}

request get(const resource& of, const object_name& name) {
  return {method::get, path_of(of, name, {})};
}

request create(const resource& of, json::object object) {
  set_kind(object, of);
  return with_body(method::post, of.path(text_at(object, {"metadata", "namespace"})), "application/json",
                   object);
}

request replace(const resource& of, json::object object, std::string_view subresource) {
  set_kind(object, of);
  return with_body(method::put, path_of(of, name_of(object), subresource), "application/json", object);
}

request merge_patch(const resource& of, const object_name& name, json::object patch,
                    std::string_view resource_version, std::string_view subresource) {
  if (!resource_version.empty()) object_in(patch, "metadata")["resourceVersion"] = resource_version;
  return with_body(method::patch, path_of(of, name, subresource), "application/merge-patch+json", patch);
}

request patch_status_apply(const resource& of, const object_name& name, json::object status,
                           std::string_view field_manager, std::string_view resource_version,
                           contested fields) {
  json::object object;
  set_kind(object, of);
  json::object& metadata = object_in(object, "metadata");
  metadata["name"] = name.name;
  if (!name.space.empty()) metadata["namespace"] = name.space;
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  object["status"] = std::move(status);
  request r = with_body(method::patch, path_of(of, name, "status"), "application/apply-patch+yaml", object);
  r.query = {{"fieldManager", std::string{field_manager}},
             {"force", fields == contested::taken ? "true" : "false"}};
  return r;
}

request remove(const resource& of, const object_name& name) {
  return {method::remove, path_of(of, name, {})};
}

std::string_view to_string(outcome::kind k) noexcept {
  static constexpr std::array<std::string_view, 10> names = {
      "done",      "conflict",          "exists",        "not found", "gone",
      "forbidden", "too many requests", "unprocessable", "refused",   "away"};
  return names[static_cast<std::size_t>(k)];
}

outcome outcome_of_status(const json::object& status) {
  const json::value* const code = status.if_contains("code");
  const auto* const number = code == nullptr ? nullptr : code->if_int64();
  const int http = number != nullptr && *number >= 400 && *number <= 599 ? static_cast<int>(*number) : 500;
  const std::string_view text = text_at(status, {"message"});
  const std::string_view reason = text_at(status, {"reason"});
  outcome o{kind_of(http, reason), std::string{text.empty() ? reason : text}};
  if (const json::value* const details = status.if_contains("details"); details && details->is_object()) {
    const json::value* const wait = details->get_object().if_contains("retryAfterSeconds");
    constexpr std::int64_t most = 86'400;
    if (wait && wait->is_int64()) o.retry_after = 1000 * std::clamp<std::int64_t>(wait->get_int64(), 0, most);
  }
  return o;
}

outcome outcome_of(const response& answer) {
  if (answer.status == 0) return {outcome::kind::away, answer.problem, answer.retry_after};
  std::optional<json::object> object = parse_object(answer.body);
  if (answer.status >= 200 && answer.status < 300) {
    if (!object) return {outcome::kind::away, "the answer is no object: " + excerpt_of(answer.body)};
    return {outcome::kind::done, {}, {}, std::move(*object)};
  }
  outcome o;
  if (object && text_at(*object, {"kind"}) == "Status") o = outcome_of_status(*object);
  o.is = kind_of(answer.status, object ? text_at(*object, {"reason"}) : std::string_view{});
  if (o.text.empty()) o.text = "HTTP " + std::to_string(answer.status) + ": " + excerpt_of(answer.body);
  if (answer.retry_after) o.retry_after = answer.retry_after;
  return o;
}

std::optional<json::object> parse_object(std::string_view text) {
  json::error_code problem;
  json::parse_options options;
  options.max_depth = deepest;
  json::value v = json::parse({text.data(), text.size()}, problem, {}, options);
  if (problem || !v.is_object()) return std::nullopt;
  return std::move(v.get_object());
}

std::string time_text(instant wall) {
  const instant seconds = wall / 1000 - (wall % 1000 < 0 ? 1 : 0);
  std::string text = allot::lab::to_timestamp(1000 * seconds);
  text[10] = 'T';
  return text += 'Z';
}

std::string micro_time_text(std::int64_t micros) {
  constexpr std::int64_t second = 1'000'000;
  const std::int64_t rest = (micros % second + second) % second;
  std::string text = time_text((micros - rest) / 1000);
  const std::string digits = std::to_string(second + rest);
  return text.insert(text.size() - 1, '.' + digits.substr(1));
}

}  // namespace allot_kueue
