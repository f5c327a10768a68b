// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/recorder.hpp"

#include "lab/replay/recorder_impl.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// What a screen can show; a curve with more points looks the same. Those of very many quotas share the
/// memory.
[[nodiscard]] std::size_t chart_points(std::size_t quotas) {
  constexpr std::size_t most = 600;
  constexpr std::size_t least = 60;
  constexpr std::size_t of_all_quotas = most * 2000;
  const std::size_t points = std::clamp(of_all_quotas / std::max<std::size_t>(1, quotas), least, most);
  return points - points % 2;
}

std::string as_field(std::string_view name) {
  std::string field;
  append_csv_field(field, name);
  return field;
}

}  // namespace

std::string_view word_of(const sim::interruption& how) noexcept {
  switch (how.why) {
    case sim::interruption::cause::decided:
      return to_string(how.how);
    case sim::interruption::cause::node_down:
    case sim::interruption::cause::start_failed:
      return to_string(how.why);
    case sim::interruption::cause::told_before:
      break;
  }
  return "";
}

time_recorder::time_recorder(output_file& tenants, const vector<std::string>& names, instant step)
    : tenants_(&tenants), step_(step) {
  for (const std::string& name : names) {
    quotas_.emplace_back().name_field = ',' + as_field(name);
  }
  tenants.text() += "time_s,quota,used,entitled,borrowed,lent,pending\n";
}

void time_recorder::begin(instant now) {
  if (std::exchange(has_begun_, true)) return;
  result_.begin = step_began_ = now;
  const thinned_series fresh{now, chart_points(quotas_.size())};
  used_ = pending_ = capacity_ = stranded_ = fresh;
  for (quota_record& q : quotas_) {
    for (series* s : {&q.used, &q.entitled, &q.borrowed, &q.lent, &q.pending, &q.reserved}) s->values = fresh;
  }
}

void time_recorder::note(instant now, std::size_t quota, const quota_moment& state) {
  begin(now);
  quota_record& q = quotas_[quota];
  if (state == q.last) return;
  if (!tenants_->is_nowhere()) write_or_wait(now, quota, state);
  if (state.used != q.last.used) q.used.set(now, state.used);
  if (state.entitled != q.last.entitled) q.entitled.set(now, state.entitled);
  if (state.borrowed != q.last.borrowed) q.borrowed.set(now, state.borrowed);
  if (state.lent != q.last.lent) q.lent.set(now, state.lent);
  if (state.pending != q.last.pending) q.pending.set(now, state.pending);
  q.last = state;
}

void time_recorder::note_reservation(instant now, std::size_t quota, std::int64_t gpus) {
  begin(now);
  quota_record& q = quotas_[quota];
  if (std::exchange(q.last_reserved, gpus) != gpus) q.reserved.set(now, gpus);
}

void time_recorder::write_or_wait(instant now, std::size_t quota, const quota_moment& state) {
  quota_record& q = quotas_[quota];
  if (step_ == 0 || now == result_.begin) return write(now, q, state);
  if (now - step_began_ >= step_) {
    write_unwritten();
    step_began_ = now - (now - result_.begin) % step_;
  }
  if (!q.unwritten) unwritten_.push_back(quota);
  q.unwritten = now;
}

void time_recorder::write_unwritten() {
  std::sort(unwritten_.begin(), unwritten_.end(), [this](std::size_t a, std::size_t b) {
    return std::pair{quotas_[a].unwritten, a} < std::pair{quotas_[b].unwritten, b};
  });
  for (const std::size_t x : unwritten_) {
    quota_record& q = quotas_[x];
    write(*q.unwritten, q, q.last);
    q.unwritten.reset();
  }
  unwritten_.clear();
}

void time_recorder::write(instant now, const quota_record& q, const quota_moment& state) {
  if (time_.empty() || time_is_ != now) {
    time_.clear();
    append_milli(time_, now);
    time_is_ = now;
  }
  std::string& text = tenants_->text();
  text += time_;
  text += q.name_field;
  for (const std::int64_t amount : {state.used, state.entitled, state.borrowed, state.lent}) {
    text += ',';
    append_milli(text, amount);
  }
  text += ',';
  append_whole(text, state.pending);
  text += '\n';
  tenants_->flush_if_full();
}

void time_recorder::note_totals(instant now, std::int64_t used, std::int64_t capacity, std::int64_t stranded,
                                std::uint64_t pending) {
  begin(now);
  used_.set(now, used);
  capacity_.set(now, capacity);
  stranded_.set(now, stranded);
  pending_.set(now, static_cast<std::int64_t>(pending));
  if (used > result_.most_used) {
    result_.most_used = used;
    result_.busiest = now;
  }
}

replayed_time time_recorder::conclude(instant now) {
  begin(now);
  write_unwritten();
  result_.end = now;
  result_.used.means = used_.means(now);
  result_.pending.means = pending_.means(now);
  result_.capacity.means = capacity_.means(now);
  result_.stranded.means = stranded_.means(now);
  result_.width = used_.width();
  for (quota_record& q : quotas_) {
    result_.used_of.push_back(q.used.conclude(now));
    result_.entitled_of.push_back(q.entitled.conclude(now));
    result_.borrowed_of.push_back(q.borrowed.conclude(now));
    result_.lent_of.push_back(q.lent.conclude(now));
    result_.pending_of.push_back(q.pending.conclude(now));
    result_.reserved_of.push_back(q.reserved.conclude(now));
  }
  return std::move(result_);
}

std::int64_t stranded_in(const sim::places& where) {
  if (!where.has_nodes()) return 0;
  const auto& inventory = where.inventory();
  std::int64_t free = inventory.free().in_milli();
  const auto& types = inventory.layout().types();
  for (std::size_t t = 0; t < types.size(); ++t) {
    const std::uint64_t empty = inventory.index().nodes_with_free(t, types[t].gpus);
    free -= static_cast<std::int64_t>(empty * types[t].gpus * gpu::milli_per_gpu);
  }
  return free;
}

event_writer::event_writer(output_file& file, std::span<const std::string_view> jobs,
                           const vector<std::string>& quotas, const gpu::cluster* cluster)
    : file_(&file), jobs_(jobs), cluster_(cluster) {
  for (const std::string& name : quotas) quota_fields_.push_back(as_field(name));
  file.text() += "time_s,event,job_id,quota,nodes,for,reason,lost_s\n";
}

void event_writer::begin_row(instant now, std::string_view event, sim::job_index job, quota_id quota) {
  std::string& text = file_->text();
  append_milli(text, now);
  text += ',';
  text += event;
  text += ',';
  append_csv_field(text, jobs_[job]);
  text += ',';
  if (quota.index() < quota_fields_.size()) text += quota_fields_[quota.index()];
  text += ',';
}
void event_writer::end_row() {
  file_->text() += '\n';
  file_->flush_if_full();
}

void event_writer::write(instant now, std::string_view event, sim::job_index job, quota_id quota) {
  begin_row(now, event, job, quota);
  file_->text() += ",,,";
  end_row();
}

void event_writer::write_start(instant now, std::string_view event, sim::job_index job, quota_id quota,
                               std::span<const sim::run_pod> pods) {
  begin_row(now, event, job, quota);
  if (cluster_ != nullptr) {
    std::string nodes;
    append_nodes(nodes, *cluster_, pods);
    append_csv_field(file_->text(), nodes);
  }
  file_->text() += ",,,";
  end_row();
}

void event_writer::write_end(instant now, std::string_view event, sim::job_index job, quota_id quota,
                             const sim::interruption& how) {
  begin_row(now, event, job, quota);
  std::string& text = file_->text();
  text += ',';
  if (how.beneficiary) append_csv_field(text, jobs_[*how.beneficiary]);
  text += ',';
  text += word_of(how);
  text += ',';
  append_milli(text, how.lost);
  end_row();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
