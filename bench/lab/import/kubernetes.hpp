// SPDX-License-Identifier: BSL-1.0
// Shared by the importers of Kubernetes objects.
#pragma once

#include "lab/import/import.hpp"
#include "lab/import/import_log.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/packed_input.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Wide enough for any Kubernetes quantity in billionths, their finest unit.
__extension__ using nano_amount = __int128;
inline constexpr nano_amount nano = 1'000'000'000;
/// The maximum of a scenario, in thousandths.
inline constexpr std::int64_t most_milli = 1'000'000'000'000'000;
/// The highest priority of a PriorityClass; the lowest is its negative.
inline constexpr std::int64_t most_priority = std::numeric_limits<std::int32_t>::max();

/// An amount in thousandths as JSON writes it ("1.5").
[[nodiscard]] std::string milli_text(std::int64_t milli);

/// A quantity as Kubernetes writes it ("500m", "1Gi", "2e3", "1.5"), in billionths; nullopt if it is none.
/// As in Kubernetes, digits beyond the ninth decimal are rounded up, and more than 2^63-1 is that.
[[nodiscard]] std::optional<nano_amount> parse_kubernetes_quantity(std::string_view text);

/// The same amount as Kubernetes writes it, exactly: "3", "500m".
[[nodiscard]] std::string kubernetes_quantity(nano_amount amount);

/// A whole number in decimal digits, as Go's ParseInt reads it; nullopt if the text is none.
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text);
/// In thousandths of `unit` billionths, rounded up.
[[nodiscard]] std::int64_t milli_of(nano_amount amount, nano_amount unit = nano);
/// In whole ones, rounded up, and at most that many.
[[nodiscard]] std::int64_t whole_of(nano_amount amount, std::int64_t most);

/// The quantity in a string or number; reports anything else.
[[nodiscard]] std::optional<nano_amount> read_quantity(json_value value, errors& found);
/// The same; also reports negative amounts.
[[nodiscard]] nano_amount read_amount_of(json_value value, errors& found);

/// A duration as Go writes it ("1h30m", "300ms", "0s"), in milliseconds; nullopt if it is none. Days and
/// weeks ("1d", "1w") are understood too.
[[nodiscard]] std::optional<instant> parse_go_duration(std::string_view text);

/// Amounts by the resource's own name ("nvidia.com/gpu").
using resource_list = std::map<std::string, nano_amount, std::less<>>;

/// Adds amounts times a count. The result stays well within range.
void add_amounts(resource_list& to, const resource_list& what, std::int64_t times = 1);

/// {"cpu": "500m", ...}. Members that are not quantities are reported.
[[nodiscard]] resource_list read_resource_list(json_value value, errors& found);

/// What the scheduler counts for a pod: its containers together, or a container that runs before them if that
/// requests more, or what the pod requests as a whole; plus the overhead. `pod_spec` is the `spec` of a pod
/// or of its template.
[[nodiscard]] resource_list request_of_pod(json_value pod_spec, errors& found);

/// The member at the end of a path of keys, if the whole path exists and is not null. Reports what is on the
/// way and no object.
[[nodiscard]] std::optional<json_value> find_path(json_value from,
                                                  std::initializer_list<std::string_view> path,
                                                  errors& found);
/// Its text, "" if there is none. Reports anything else.
[[nodiscard]] std::string text_at(json_value from, std::initializer_list<std::string_view> path,
                                  errors& found);
/// The texts by key of the object there: labels, a selector. Reports anything else.
[[nodiscard]] std::map<std::string, std::string, std::less<>> texts_at(
    json_value from, std::initializer_list<std::string_view> path, errors& found);
/// The whole number there.
[[nodiscard]] std::optional<std::int64_t> whole_at(json_value from,
                                                   std::initializer_list<std::string_view> path,
                                                   std::int64_t least, std::int64_t most, errors& found);
/// The timestamp there, in milliseconds since 1970.
[[nodiscard]] std::optional<instant> time_at(json_value from, std::initializer_list<std::string_view> path,
                                             errors& found);
/// The elements of the array there. Reports anything else.
[[nodiscard]] vector<json_value> elements_at(json_value from, std::initializer_list<std::string_view> path,
                                             errors& found);

/// An object of a list printed by kubectl.
struct kubernetes_object {
  std::string kind;
  /// "namespace/name", or the name alone.
  std::string name;
  std::string space;
  std::string own_name;
  std::optional<instant> created;
  json_value value;

  /// "Workload ns/name", for messages.
  [[nodiscard]] std::string shown() const { return kind + ' ' + name; }
};

/// Reads an object. One that does not say its kind, as those in lists of the API server, is of `kind`.
/// Reports what has no kind, or no name.
[[nodiscard]] std::optional<kubernetes_object> read_object(json_value value, errors& found,
                                                           std::string_view kind = {});

/// Objects by kind, in the order of age, then name.
using objects_by_kind = std::map<std::string, vector<kubernetes_object>>;
/// Makes them of objects that come one by one.
class object_collector {
 public:
  /// As `read_object`; also reports an object that is there twice.
  void add(json_value value, errors& found, std::string_view kind = {});
  [[nodiscard]] objects_by_kind take();

 private:
  objects_by_kind objects_;
  std::set<std::pair<std::string, std::string>> names_;
};
/// The objects of `kubectl get ... -o json`, or a single object. Reports anything that is not such a list.
[[nodiscard]] objects_by_kind read_objects(json_value root, errors& found);
/// Notes how many objects there are of each kind that is not among `known`.
void note_other_kinds(const objects_by_kind& objects, std::initializer_list<std::string_view> known,
                      import_log& log);

/// A condition of an object.
struct kubernetes_condition {
  bool is_true = false;
  std::optional<instant> since;
  std::string reason;
};
[[nodiscard]] std::optional<kubernetes_condition> find_condition(json_value object, std::string_view type,
                                                                 errors& found);

/// Reads the file as JSON, or YAML, and calls `make(root, found, log)`, which returns the text of a scenario.
/// Writes it only if `allot check` accepts it. Returns the exit status.
using scenario_maker = std::string (*)(json_value root, errors& found, import_log& log,
                                       const import_options& options);
[[nodiscard]] int import_objects(packed_input& file, import_log& log, const import_options& options,
                                 scenario_maker make);

/// The scenario made of the objects of Kueue, of KAI, or of a cluster without either, or of the configuration
/// of HiveD. On errors reports them; the text is then no scenario.
[[nodiscard]] std::string make_kueue_scenario(json_value root, errors& found, import_log& log,
                                              const import_options& options);
[[nodiscard]] std::string make_kai_scenario(json_value root, errors& found, import_log& log,
                                            const import_options& options);
[[nodiscard]] std::string make_kubernetes_scenario(json_value root, errors& found, import_log& log,
                                                   const import_options& options);
[[nodiscard]] std::string make_hived_scenario(json_value root, errors& found, import_log& log,
                                              const import_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
