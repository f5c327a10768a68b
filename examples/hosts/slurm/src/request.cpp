// SPDX-License-Identifier: BSL-1.0
#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace allot_slurm {

namespace {

/// Calls `visit(part)` for each part between separators.
template <class Visit>
void for_each_part(std::string_view text, char separator, Visit visit) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

template <class Number>
[[nodiscard]] std::optional<Number> number(std::string_view text) {
  Number n{};
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || after != end) return std::nullopt;
  return n;
}

/// Digits, and at most one letter: "4k" is a count that is not read here, "4090ti" a type.
[[nodiscard]] bool looks_like_count(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && text.size() - digits <= 1;
}

/// The kind of GRES, if a list asks for a part of a GPU: "shard" or "mps".
[[nodiscard]] std::string_view part_of_gpu(std::string_view tres) {
  std::string_view found;
  std::string plain{tres};
  std::replace(plain.begin(), plain.end(), ';', ',');
  for_each_part(plain, ',', [&](std::string_view one) {
    for (const std::string_view prefix : {"gres:", "gres/"}) {
      if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    }
    for (const std::string_view kind : {"shard", "mps"}) {
      if (!one.starts_with(kind)) continue;
      const std::string_view rest = one.substr(kind.size(), one.find('(') - kind.size());
      if (!rest.empty() && rest.front() != ':' && rest.front() != '=') continue;
      // Without a number it is one.
      const std::string_view count = rest.substr(std::min(rest.find_last_of(":=") + 1, rest.size()));
      if (number<std::uint64_t>(count) != 0U) found = kind;
    }
  });
  return found;
}

/// More than any cluster has, and few enough to be multiplied.
constexpr std::uint64_t most_gpus = 1'000'000'000;

}  // namespace

std::string to_string(const job_key& k) {
  std::string text = std::to_string(k.id);
  if (k.task != job_key::no_task) text.append(1, '_').append(std::to_string(k.task));
  return text;
}

std::string slurm_name(const job& j) {
  return to_string(j.key) + (j.component ? '+' + std::to_string(*j.component) : std::string{});
}

job whole_of(std::vector<job> components) {
  job all = components.front();
  all.component.reset();
  const auto is_over = [](const job& c) { return c.state == run_state::ended; };
  // One that its user has cancelled alone is back after a requeue.
  if (!std::all_of(components.begin(), components.end(), is_over)) std::erase_if(components, is_over);
  const auto any = [&](auto what) { return std::any_of(components.begin(), components.end(), what); };
  const auto has = [&](run_state s) { return any([s](const job& c) { return c.state == s; }); };
  all.state = has(run_state::running)      ? run_state::running
              : has(run_state::completing) ? run_state::completing
              : has(run_state::pending)    ? run_state::pending
                                           : run_state::ended;
  // Slurm starts all of them, or none.
  all.is_held = any([](const job& c) { return c.is_held; });
  all.is_requeued = any([](const job& c) { return c.is_requeued; });
  all.may_requeue = !any([](const job& c) { return !c.may_requeue; });
  const bool is_endless = any([](const job& c) { return c.time_limit == 0; });
  all.partition.clear();
  all.nodes.clear();
  for (const job& c : components) {
    for_each_part(c.partition, ',', [&](std::string_view name) {
      if (!has_word(all.partition, name)) all.partition.append(all.partition.empty() ? "" : ",").append(name);
    });
    if (all.dependency.empty()) all.dependency = c.dependency;
    const bool says_more = all.why_pending.empty() || all.why_pending == "None";
    if (says_more || c.why_pending == bad_constraints) all.why_pending = c.why_pending;
    all.time_limit = is_endless ? 0 : std::max(all.time_limit, c.time_limit);
    all.eligible = std::max(all.eligible, c.eligible);
    all.started = std::max(all.started, c.started);
    all.nodes.insert(all.nodes.end(), c.nodes.begin(), c.nodes.end());
  }
  all.components = std::move(components);
  return all;
}

std::optional<job_key> parse_job_key(const std::string& text) {
  const std::string_view all = text;
  if (const std::size_t plus = all.find('+'); plus != std::string_view::npos) {
    const bool is_component = number<std::uint32_t>(all.substr(plus + 1)).has_value();
    const auto id = number<std::uint32_t>(all.substr(0, plus));
    return is_component && id ? std::optional{job_key{*id}} : std::nullopt;
  }
  const std::size_t bar = all.find('_');
  const auto id = number<std::uint32_t>(all.substr(0, bar));
  if (!id) return std::nullopt;
  if (bar == std::string_view::npos) return job_key{*id};
  const auto task = number<std::uint32_t>(all.substr(bar + 1));
  if (!task || *task == job_key::no_task) return std::nullopt;
  return job_key{*id, *task};
}

bool has_word(std::string_view list, std::string_view word) {
  bool has = false;
  for_each_part(list, ',', [&](std::string_view one) { has = has || one == word; });
  return has;
}

std::string held_by(const job& j) {
  if (j.state != run_state::pending || !j.is_held) return {};
  for (const job& part : j.components) {
    if (std::string by = held_by(part); !by.empty()) return by;
  }
  // Users' marks are in the one, operators' in the other.
  for (const std::string_view comment : {std::string_view{j.comment}, std::string_view{j.admin_comment}}) {
    if (!comment.starts_with(comment_mark)) continue;
    std::string_view text = comment.substr(comment_mark.size());
    if (!text.starts_with("held by ")) continue;
    for (const std::string_view end : {"; ", " pinned to ", " avoiding "})
      text = text.substr(0, text.find(end));
    return std::string{text};
  }
  return {};
}

std::optional<std::vector<gpu_count>> parse_gpus(std::string_view tres) {
  std::vector<gpu_count> all;
  bool is_right = true;
  // "(S:0-1,3)" says where they are attached.
  std::string plain;
  int depth = 0;
  for (const char c : tres) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c == ';' ? ',' : c;
    if (c == ')' && depth > 0) --depth;
  }
  for_each_part(plain, ',', [&](std::string_view one) {
    for (const std::string_view prefix : {"gres:", "gres/"}) {
      if (one.substr(0, prefix.size()) == prefix) one.remove_prefix(prefix.size());
    }
    if (one.substr(0, 3) != "gpu") return;
    one.remove_prefix(3);
    if (!one.empty() && one.front() != ':' && one.front() != '=') return;
    gpu_count g;
    g.count = 1;
    const std::size_t last = one.find_last_of(":=");
    const std::string_view end = last == std::string_view::npos ? std::string_view{} : one.substr(last + 1);
    if (!end.empty()) {
      if (const auto n = number<std::uint64_t>(end)) {
        is_right = is_right && *n <= most_gpus;
        g.count = *n;
        one = one.substr(0, last);
      } else if (last != 0 || looks_like_count(end)) {
        is_right = false;
      }
      if (!one.empty()) g.type = one.substr(1);
    }
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.type == g.type; });
    if (same == all.end()) {
      all.push_back(std::move(g));
    } else {
      same->count += g.count;
    }
  });
  if (!is_right) return std::nullopt;
  return all;
}

std::string tasks_text(const std::vector<std::uint32_t>& tasks) {
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t last = i;
    while (last + 1 < tasks.size() && tasks[last + 1] == tasks[last] + 1) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(tasks[i]));
    if (last > i) text.append(1, '-').append(std::to_string(tasks[last]));
    i = last + 1;
  }
  return text;
}

std::optional<std::vector<std::uint32_t>> parse_tasks(std::string_view tasks, std::size_t most) {
  tasks = tasks.substr(0, tasks.find('%'));
  std::vector<std::uint32_t> all;
  bool is_right = !tasks.empty();
  for_each_part(tasks, ',', [&](std::string_view one) {
    if (!is_right) return;
    std::uint32_t step = 1;
    if (const std::size_t colon = one.find(':'); colon != std::string_view::npos) {
      step = number<std::uint32_t>(one.substr(colon + 1)).value_or(0);
      one = one.substr(0, colon);
    }
    const std::size_t dash = one.find('-');
    const auto first = number<std::uint32_t>(one.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number<std::uint32_t>(one.substr(dash + 1));
    is_right = first && last && step > 0 && *first <= *last && *last != job_key::no_task;
    for (std::uint64_t i = is_right ? *first : 1; is_right && i <= *last; i += step) {
      is_right = all.size() < most;
      if (is_right) all.push_back(static_cast<std::uint32_t>(i));
    }
  });
  if (!is_right) return std::nullopt;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

need_reading read_need(const raw_request& r, const largest_node& largest) {
  need_reading reading;
  for (const std::string* const tres :
       {&r.tres_per_node, &r.tres_per_job, &r.tres_per_socket, &r.tres_per_task}) {
    if (const std::string_view kind = part_of_gpu(*tres); !kind.empty()) {
      reading.problem =
          "parts of GPUs (" + std::string{kind} + ") are not counted: ask for whole ones, as in --gres=gpu:1";
      return reading;
    }
  }
  need n;
  n.nodes = std::max<std::uint64_t>(1, r.nodes);
  n.cpus = r.cpus;
  const auto take = [&](const std::string& tres, std::uint64_t times) {
    const auto gpus = parse_gpus(tres);
    if (!gpus) {
      reading.problem = "its GPUs can't be read from \"" + tres + '"';
      return false;
    }
    for (const gpu_count& g : *gpus) {
      if (g.count == 0) continue;
      if (n.gpus > 0 && n.gpu_type != g.type) {
        reading.problem = "it asks for GPUs of several types: split it into jobs of one type each";
        return false;
      }
      n.gpu_type = g.type;
      n.gpus += g.count * times;
    }
    return true;
  };
  // Slurm lets only one of them decide, and checks the others against it.
  const bool is_read = !r.tres_per_node.empty()  ? take(r.tres_per_node, n.nodes)
                       : !r.tres_per_job.empty() ? take(r.tres_per_job, 1)
                                                 : take(r.tres_per_task, std::max<std::uint32_t>(1, r.tasks));
  if (!is_read) return reading;
  if (n.gpus == 0 && !r.tres_per_socket.empty()) {
    const auto gpus = parse_gpus(r.tres_per_socket);
    if (!gpus || !gpus->empty()) {
      reading.problem = "GPUs per socket are not counted: use --gpus or --gpus-per-node";
      return reading;
    }
  }
  const bool per_node = !r.tres_per_node.empty();
  n.is_total = n.gpus > 0 && !per_node && (n.nodes == 1 || n.gpus % n.nodes != 0);
  if (r.is_exclusive) {
    if (largest.gpus > 0) n.gpus = std::max(n.gpus, largest.gpus * n.nodes);
    n.cpus = std::max(n.cpus, largest.cpus * n.nodes);
    n.is_total = false;
  }
  n.memory_mib = std::min<std::uint64_t>(r.memory_mib, std::numeric_limits<std::uint32_t>::max()) *
                 (r.memory_is_per_cpu ? n.cpus : n.nodes);
  reading.value = std::move(n);
  return reading;
}

std::optional<bool> satisfies(const std::vector<std::string>& features, std::string_view constraint) {
  if (constraint.find_first_of("[]()*!") != std::string_view::npos) return std::nullopt;
  bool any = false;
  for_each_part(constraint, '|', [&](std::string_view alternative) {
    bool has_all = true;
    std::string plain{alternative};
    std::replace(plain.begin(), plain.end(), ',', '&');
    for_each_part(plain, '&', [&](std::string_view name) {
      has_all =
          has_all && (name.empty() || std::find(features.begin(), features.end(), name) != features.end());
    });
    any = any || has_all;
  });
  return any;
}

}  // namespace allot_slurm
