// SPDX-License-Identifier: BSL-1.0
//
// Requests for objects of Kubernetes, what their answers mean, and how values are written in them. Quantities
// are read by `allot::lab::parse_kubernetes_quantity` (lab/import/kubernetes.hpp), times by
// `allot::lab::parse_timestamp`.
#pragma once

#include "api_server.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lab/import/kubernetes.hpp"

namespace allot_kueue {

/// A kind of objects, as the API names it.
struct resource {
  /// "v1", "kueue.x-k8s.io/v1beta2".
  std::string api_version;
  std::string kind;
  /// "workloads".
  std::string plural;

  /// The path of all objects, or of those of a namespace.
  [[nodiscard]] std::string path(std::string_view in_namespace = {}) const;
};

/// An object's namespace, "" if it is in none, and its name.
struct object_name {
  std::string space{};
  std::string name{};

  /// "namespace/name", or the name alone.
  [[nodiscard]] std::string text() const { return space.empty() ? name : space + '/' + name; }
  friend bool operator==(const object_name&, const object_name&) = default;
};

/// The text at a path of keys, "" if there is none.
[[nodiscard]] std::string_view text_at(const boost::json::object& from,
                                       std::initializer_list<std::string_view> path);
[[nodiscard]] object_name name_of(const boost::json::object& object);

/// @{
/// Requests for one object. With a subresource, "status", for that part of it.
[[nodiscard]] request get(const resource& of, const object_name& name);
/// The object's own metadata says its namespace; `apiVersion` and `kind` are added.
[[nodiscard]] request create(const resource& of, boost::json::object object);
/// A whole object; refused as a conflict if its `metadata.resourceVersion` is not the current one.
[[nodiscard]] request replace(const resource& of, boost::json::object object,
                              std::string_view subresource = {});
/// Merges `patch` into the object. With a version, only if the object has it: else that is a conflict.
[[nodiscard]] request merge_patch(const resource& of, const object_name& name, boost::json::object patch,
                                  std::string_view resource_version = {}, std::string_view subresource = {});
/// Whether what another manager owns with another value is taken from it, or is a conflict.
enum class contested : std::uint8_t { refused, taken };
/// Server-side apply of what `field_manager` is to own in the status, all of it: what it owned before and is
/// not there is removed. With a version, only if the object has it.
[[nodiscard]] request patch_status_apply(const resource& of, const object_name& name,
                                         boost::json::object status, std::string_view field_manager,
                                         std::string_view resource_version = {},
                                         contested fields = contested::refused);
[[nodiscard]] request remove(const resource& of, const object_name& name);
/// @}

/// What became of a request.
struct outcome {
  enum class kind : std::uint8_t {
    done,
    /// Someone else was faster: read the object again.
    conflict,
    /// An object of that name is there already.
    exists,
    not_found,
    /// What the version or the continue token names is no longer kept.
    gone,
    /// Not allowed, or not who we say we are.
    forbidden,
    too_many_requests,
    /// The object is not valid; the text says where.
    unprocessable,
    /// Refused for another reason: the same request will be refused again.
    refused,
    /// No answer, or the server can't: it may work later. Of a request without an answer it is not known
    /// whether it was carried out.
    away,
  };
  kind is = kind::done;
  /// In the server's words, if it failed.
  std::string text{};
  std::optional<instant> retry_after{};
  /// What was answered, if it was done.
  boost::json::object object{};

  [[nodiscard]] explicit operator bool() const noexcept { return is == kind::done; }
};
[[nodiscard]] std::string_view to_string(outcome::kind k) noexcept;
/// Reads an answer.
[[nodiscard]] outcome outcome_of(const response& answer);
/// What a `Status` says, as it comes with an answer or in a watch.
[[nodiscard]] outcome outcome_of_status(const boost::json::object& status);
/// A text as JSON, nested deeper than people write it; none if it is no object.
[[nodiscard]] std::optional<boost::json::object> parse_object(std::string_view text);

/// "2026-11-30T07:04:29Z", for milliseconds since 1970: metav1.Time.
[[nodiscard]] std::string time_text(instant wall);
/// "2026-11-30T07:04:29.000123Z", for microseconds since 1970: metav1.MicroTime.
[[nodiscard]] std::string micro_time_text(std::int64_t micros);

}  // namespace allot_kueue
