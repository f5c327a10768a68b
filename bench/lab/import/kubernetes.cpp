// SPDX-License-Identifier: BSL-1.0
#include "lab/import/kubernetes.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/yaml_text.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/timestamp.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// 2^63-1 whole units, the most that Kubernetes knows; products with counts of pods stay in range.
constexpr nano_amount most_amount = nano * std::numeric_limits<std::int64_t>::max();

/// The value of a suffix, in billionths.
[[nodiscard]] std::optional<nano_amount> unit_of(std::string_view suffix) {
  constexpr nano_amount k = 1000;
  constexpr nano_amount ki = 1024;
  static constexpr std::array<std::pair<std::string_view, nano_amount>, 16> units = {
      {{"", nano},
       {"n", 1},
       {"u", k},
       {"m", k * k},
       {"k", nano * k},
       {"M", nano * k * k},
       {"G", nano * k * k * k},
       {"T", nano * k * k * k * k},
       {"P", nano * k * k * k * k * k},
       {"E", nano * k * k * k * k * k * k},
       {"Ki", nano * ki},
       {"Mi", nano * ki * ki},
       {"Gi", nano * ki * ki * ki},
       {"Ti", nano * ki * ki * ki * ki},
       {"Pi", nano * ki * ki * ki * ki * ki},
       {"Ei", nano * ki * ki * ki * ki * ki * ki}}};
  const auto at = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == suffix; });
  return at == units.end() ? std::nullopt : std::optional{at->second};
}

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return '0' <= c && c <= '9';
}

}  // namespace

std::string milli_text(std::int64_t milli) {
  std::string text;
  append_milli(text, milli);
  return text;
}

std::optional<nano_amount> parse_kubernetes_quantity(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::size_t at = 0;
  std::string digits;
  std::size_t decimals = 0;
  bool has_point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !has_point)); ++at) {
    if (text[at] == '.') {
      has_point = true;
      continue;
    }
    digits += text[at];
    decimals += has_point ? 1U : 0U;
  }
  if (digits.empty()) return std::nullopt;
  std::string_view suffix = text.substr(at);
  int exponent = 0;
  // "E" alone is a suffix; "e3" and "E3" are exponents.
  if (suffix.size() > 1 && (suffix.front() == 'e' || suffix.front() == 'E') && suffix != "Ei") {
    const char* first = suffix.data() + 1;
    const char* const end = suffix.data() + suffix.size();
    if (*first == '+' && end - first > 1 && is_digit(first[1])) ++first;
    const auto [after, error] = std::from_chars(first, end, exponent);
    if (error != std::errc{} || after != end) return std::nullopt;
    // What is beyond is more than Kubernetes knows, or less than a billionth.
    exponent = std::clamp(exponent, -100'000, 100'000);
    suffix = {};
  }
  const auto unit = unit_of(suffix);
  if (!unit) return std::nullopt;
  // Digit by digit, each worth a tenth of the previous one.
  nano_amount value = 0;
  bool rest = false;
  nano_amount worth = *unit;
  long shift = static_cast<long>(digits.size() - decimals) - 1 + exponent;
  for (const char c : digits) {
    const int digit = c - '0';
    nano_amount of_digit = worth;
    if (digit != 0) {
      long s = shift;
      for (; s > 0 && of_digit <= most_amount; --s) of_digit *= 10;
      if (s > 0) return negative ? -most_amount : most_amount;
      nano_amount scaled = of_digit * digit;
      for (; s < 0 && (scaled != 0 || !rest); ++s) {
        rest |= scaled % 10 != 0;
        scaled /= 10;
      }
      // The truncated parts of several digits are at most a billionth each, which only matters for rounding
      // up.
      value += scaled;
      if (value >= most_amount) return negative ? -most_amount : most_amount;
    }
    --shift;
  }
  if (rest && value < most_amount) ++value;
  return negative ? -value : value;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || after != end) return std::nullopt;
  return n;
}

std::int64_t milli_of(nano_amount amount, nano_amount unit) {
  unit /= 1000;
  return static_cast<std::int64_t>(std::min<nano_amount>((amount + unit - 1) / unit, most_milli));
}

std::int64_t whole_of(nano_amount amount, std::int64_t most) {
  return static_cast<std::int64_t>(std::min<nano_amount>((amount + nano - 1) / nano, most));
}

std::optional<nano_amount> read_quantity(json_value value, errors& found) {
  if (value.is_string() || value.is_number()) {
    if (const auto q = parse_kubernetes_quantity(value.text())) return q;
  }
  value.report(found,
               "expected a quantity of Kubernetes, as in 4, \"500m\" or \"1Gi\", found " + value.shown());
  return std::nullopt;
}

nano_amount read_amount_of(json_value value, errors& found) {
  const auto q = read_quantity(value, found);
  if (q && *q < 0) {
    value.report(found, "expected an amount that is not negative, found " + value.shown());
    return 0;
  }
  return q.value_or(0);
}

std::string kubernetes_quantity(nano_amount amount) {
  static constexpr std::array<std::pair<std::string_view, nano_amount>, 4> units = {
      {{"", nano}, {"m", nano / 1000}, {"u", nano / 1'000'000}, {"n", 1}}};
  const auto unit =
      *std::find_if(units.begin(), units.end(), [&](const auto& u) { return amount % u.second == 0; });
  std::string text;
  nano_amount rest = (amount < 0 ? -amount : amount) / unit.second;
  do text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  while ((rest /= 10) != 0);
  if (amount < 0) text.insert(text.begin(), '-');
  return text.append(unit.first);
}

std::optional<instant> parse_go_duration(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, nano_amount>, 9> units = {{{"ns", 1},
                                                                                     {"us", 1000},
                                                                                     {"µs", 1000},
                                                                                     {"ms", 1'000'000},
                                                                                     {"s", nano},
                                                                                     {"m", nano * 60},
                                                                                     {"h", nano * 3600},
                                                                                     {"d", nano * 86'400},
                                                                                     {"w", nano * 604'800}}};
  if (text == "0") return 0;
  nano_amount sum = 0;
  bool any = false;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    std::size_t after = end;
    while (after < text.size() && !is_digit(text[after]) && text[after] != '.') ++after;
    const auto number = parse_kubernetes_quantity(text.substr(0, end));
    const auto unit = std::find_if(units.begin(), units.end(),
                                   [&](const auto& u) { return u.first == text.substr(end, after - end); });
    constexpr nano_amount most = nano * 1'000'000'000'000;
    if (!number || unit == units.end() || *number > most) return std::nullopt;
    sum += *number * unit->second / nano;
    if (sum > most) return std::nullopt;
    any = true;
    text.remove_prefix(after);
  }
  if (!any) return std::nullopt;
  constexpr nano_amount per_tick = 1'000'000;
  return static_cast<instant>(sum / per_tick);
}

void add_amounts(resource_list& to, const resource_list& what, std::int64_t times) {
  for (const auto& [name, amount] : what) {
    nano_amount& sum = to[name];
    sum = std::min(most_amount, sum + std::min(most_amount, amount) * times);
  }
}

resource_list read_resource_list(json_value value, errors& found) {
  resource_list list;
  if (!expect_object(value, found)) return list;
  value.for_each([&](json_value member) { list[std::string{member.key()}] = read_amount_of(member, found); });
  return list;
}

namespace {

[[nodiscard]] resource_list request_of_container(json_value container, errors& found) {
  resource_list request;
  if (const auto requests = find_path(container, {"resources", "requests"}, found)) {
    request = read_resource_list(*requests, found);
  }
  // A limit is also the request if none is given.
  if (const auto limits = find_path(container, {"resources", "limits"}, found)) {
    for (const auto& [name, amount] : read_resource_list(*limits, found)) request.try_emplace(name, amount);
  }
  return request;
}

void raise_to(resource_list& to, const resource_list& what) {
  for (const auto& [name, amount] : what) to[name] = std::max(to[name], amount);
}

}  // namespace

resource_list request_of_pod(json_value pod_spec, errors& found) {
  resource_list running;
  resource_list before;
  for (const json_value& c : elements_at(pod_spec, {"initContainers"}, found)) {
    resource_list of_container = request_of_container(c, found);
    if (text_at(c, {"restartPolicy"}, found) == "Always") {
      // It keeps running beside the others.
      add_amounts(running, of_container);
    } else {
      add_amounts(of_container, running);
      raise_to(before, of_container);
    }
  }
  for (const json_value& c : elements_at(pod_spec, {"containers"}, found)) {
    add_amounts(running, request_of_container(c, found));
  }
  raise_to(running, before);
  // What a pod says of itself counts in place of what its containers say.
  for (const auto& [name, amount] : request_of_container(pod_spec, found)) {
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) running[name] = amount;
  }
  if (const auto overhead = find_path(pod_spec, {"overhead"}, found)) {
    add_amounts(running, read_resource_list(*overhead, found));
  }
  return running;
}

std::optional<json_value> find_path(json_value from, std::initializer_list<std::string_view> path,
                                    errors& found) {
  for (const std::string_view key : path) {
    if (!from.is_object()) {
      // Several members are read from one object: a wrong type is reported once.
      const std::string place = from.pointer();
      const auto is_known = [&](const errors::error& e) { return e.place == place; };
      if (std::none_of(found.kept().begin(), found.kept().end(), is_known)) {
        static_cast<void>(expect_object(from, found));
      }
      return std::nullopt;
    }
    const auto member = from.find(key);
    if (!member || member->is() == json_value::kind::null) return std::nullopt;
    from = *member;
  }
  return from;
}

std::string text_at(json_value from, std::initializer_list<std::string_view> path, errors& found) {
  const auto value = find_path(from, path, found);
  if (!value) return {};
  if (value->is_string()) return std::string{value->text()};
  value->report(found, "expected a text, found " + value->shown());
  return {};
}

std::map<std::string, std::string, std::less<>> texts_at(json_value from,
                                                         std::initializer_list<std::string_view> path,
                                                         errors& found) {
  std::map<std::string, std::string, std::less<>> all;
  const auto value = find_path(from, path, found);
  if (!value || !expect_object(*value, found)) return all;
  value->for_each([&](json_value member) {
    if (auto text = read_string(member, found)) all.emplace(member.key(), std::move(*text));
  });
  return all;
}

std::optional<std::int64_t> whole_at(json_value from, std::initializer_list<std::string_view> path,
                                     std::int64_t least, std::int64_t most, errors& found) {
  const auto value = find_path(from, path, found);
  return value ? read_whole(*value, least, most, found) : std::nullopt;
}

std::optional<instant> time_at(json_value from, std::initializer_list<std::string_view> path, errors& found) {
  const auto value = find_path(from, path, found);
  if (!value) return std::nullopt;
  if (value->is_string()) {
    if (const auto t = parse_timestamp(value->text())) return t;
  }
  value->report(found, "expected a time, as in \"2024-05-06T07:08:09Z\", found " + value->shown());
  return std::nullopt;
}

vector<json_value> elements_at(json_value from, std::initializer_list<std::string_view> path, errors& found) {
  vector<json_value> all;
  const auto value = find_path(from, path, found);
  if (value && expect_array(*value, found))
    value->for_each([&](json_value element) { all.push_back(element); });
  return all;
}

std::optional<kubernetes_object> read_object(json_value value, errors& found, std::string_view kind) {
  if (!expect_object(value, found)) return std::nullopt;
  kubernetes_object object{text_at(value, {"kind"}, found),
                           {},
                           text_at(value, {"metadata", "namespace"}, found),
                           text_at(value, {"metadata", "name"}, found),
                           time_at(value, {"metadata", "creationTimestamp"}, found),
                           value};
  if (object.kind.empty()) object.kind = kind;
  if (object.kind.empty()) {
    value.report(found, "the object has no \"kind\"");
    return std::nullopt;
  }
  if (object.own_name.empty()) {
    value.report(found, "the object has no name (expected \"metadata\": {\"name\": ...})");
    return std::nullopt;
  }
  object.name = object.space.empty() ? object.own_name : object.space + '/' + object.own_name;
  return object;
}

void object_collector::add(json_value value, errors& found, std::string_view kind) {
  auto object = read_object(value, found, kind);
  if (!object) return;
  if (!names_.emplace(object->kind, object->name).second)
    return value.report(found, "there is more than one " + object->shown());
  objects_[object->kind].push_back(std::move(*object));
}

objects_by_kind object_collector::take() {
  for (auto& [kind, objects] : objects_) {
    std::stable_sort(objects.begin(), objects.end(),
                     [](const kubernetes_object& a, const kubernetes_object& b) {
                       const instant x = a.created.value_or(0);
                       const instant y = b.created.value_or(0);
                       return x != y ? x < y : a.name < b.name;
                     });
  }
  return std::move(objects_);
}

objects_by_kind read_objects(json_value root, errors& found) {
  object_collector objects;
  vector<json_value> all;
  if (root.is_array()) {
    root.for_each([&](json_value element) { all.push_back(element); });
  } else if (!expect_object(root, found)) {
    return {};
  } else if (find_path(root, {"items"}, found)) {
    all = elements_at(root, {"items"}, found);
  } else if (find_path(root, {"kind"}, found)) {
    all.push_back(root);
  } else {
    root.report(found, "expected what \"kubectl get ... -o json\" prints: an object with \"items\"");
  }
  // Several outputs of kubectl, one after the other, are lists in a list.
  vector<json_value> single;
  for (const json_value& value : all) {
    if (value.is_object() && value.find("items") && text_at(value, {"kind"}, found).ends_with("List")) {
      for (const json_value& element : elements_at(value, {"items"}, found)) single.push_back(element);
    } else {
      single.push_back(value);
    }
  }
  for (const json_value& value : single) objects.add(value, found);
  return objects.take();
}

void note_other_kinds(const objects_by_kind& objects, std::initializer_list<std::string_view> known,
                      import_log& log) {
  for (const auto& [kind, all] : objects) {
    if (std::find(known.begin(), known.end(), kind) != known.end()) continue;
    log.note(kind, counted(all.size(), "object is", "objects are") + " not carried over");
  }
}

std::optional<kubernetes_condition> find_condition(json_value object, std::string_view type, errors& found) {
  for (const json_value& c : elements_at(object, {"status", "conditions"}, found)) {
    if (text_at(c, {"type"}, found) != type) continue;
    return kubernetes_condition{text_at(c, {"status"}, found) == "True",
                                time_at(c, {"lastTransitionTime"}, found), text_at(c, {"reason"}, found)};
  }
  return std::nullopt;
}

namespace {

/// The errors of a list of objects, with the object that each is about: an index like /items/417 says little.
[[nodiscard]] errors with_objects(json_value root, const errors& found) {
  errors ignored;
  const bool is_list = root.is_array();
  const std::string prefix = is_list ? "/" : "/items/";
  const std::optional<json_value> items = is_list ? root : find_path(root, {"items"}, ignored);
  std::map<std::string, std::string, std::less<>> shown;
  const auto name_of = [&](json_value object) {
    const std::string kind = text_at(object, {"kind"}, ignored);
    const std::string space = text_at(object, {"metadata", "namespace"}, ignored);
    std::string name = text_at(object, {"metadata", "name"}, ignored);
    if (!space.empty()) name.insert(0, space + '/');
    if (!kind.empty() && !name.empty()) name.insert(0, kind + ' ');
    return name.empty() ? kind : name;
  };
  if (items && items->is_array()) {
    std::set<std::string, std::less<>> wanted;
    for (const errors::error& e : found.kept()) {
      if (e.place.compare(0, prefix.size(), prefix) != 0) continue;
      wanted.insert(e.place.substr(0, e.place.find('/', prefix.size())));
    }
    std::size_t n = 0;
    items->for_each([&](json_value object) {
      const std::string place = prefix + std::to_string(n++);
      if (wanted.count(place) > 0) shown.emplace(place, name_of(object));
    });
  }
  errors all;
  for (const errors::error& e : found.kept()) {
    const auto at = shown.find(e.place.substr(0, e.place.find('/', prefix.size())));
    const bool is_named =
        at != shown.end() && !at->second.empty() && e.text.find(at->second) == std::string::npos;
    all.add(e.file, e.place, is_named ? e.text + " (in " + at->second + ')' : e.text);
  }
  while (all.size() < found.size()) all.add({}, {}, {});
  return all;
}

/// The errors of a scenario that nobody sees, with the job that each of them is about.
[[nodiscard]] errors with_jobs(const scenario& s, const errors& found) {
  constexpr std::string_view prefix = "/jobs/";
  errors all;
  for (const errors::error& e : found.kept()) {
    std::size_t n = s.jobs.size();
    if (e.place.compare(0, prefix.size(), prefix) == 0) {
      std::from_chars(e.place.data() + prefix.size(), e.place.data() + e.place.size(), n);
    }
    all.add(e.file, e.place, n < s.jobs.size() ? e.text + " (job " + s.jobs[n].id + ')' : e.text);
  }
  while (all.size() < found.size()) all.add({}, {}, {});
  return all;
}

/// Several JSON documents, one after the other, as one array of them.
[[nodiscard]] std::string as_one_document(std::string text) {
  std::size_t depth = 0;
  bool is_text = false;
  vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text) {
      if (c == '\\') ++i;
      if (c == '"') is_text = false;
    } else if (c == '"') {
      is_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      ends.push_back(i + 1);
    }
  }
  if (ends.size() < 2 || depth > 0) return text;
  for (std::size_t e = ends.size() - 1; e-- > 0;) text.insert(ends[e], 1, ',');
  return '[' + text + ']';
}

}  // namespace

int import_objects(packed_input& file, import_log& log, const import_options& options, scenario_maker make) {
  auto text = file.read_all();
  if (!text) {
    log.fail({}, file.problem());
    return bad_input_status;
  }
  errors found;
  const std::string name = shown_path(options.file);
  std::optional<std::string> joined =
      is_yaml(*text) ? json_of_yaml(name, *text, found) : as_one_document(std::move(*text));
  std::optional<json_document> document;
  if (joined) document = json_document::parse(name, *joined, found);
  std::string scenario_text;
  if (document) {
    scenario_text = make(document->root(), found, log, options);
    found = with_objects(document->root(), found);
  }
  if (found.empty()) {
    // Only a usable scenario is written.
    scenario_source source;
    source.file = "the scenario made of " + name;
    const auto s = parse_scenario(scenario_text, source, found);
    if (s) {
      check_running(*s, found);
      found = with_jobs(*s, found);
    }
  }
  if (!found.empty()) return complain(found);
  output_target out;
  std::string problem = out.open(options.out, options.force);
  if (problem.empty()) {
    out.text() = scenario_text;
    problem = out.publish();
  }
  return problem.empty() ? 0 : complain(problem, "allot import");
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
