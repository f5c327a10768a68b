// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The recent usage of the quotas as the steps of a scheduler see it: what a job holds counts from the step
/// that learns of it to the step that learns it has left.
template <class Session>
class past_usage {
 public:
  static constexpr std::size_t n = Session::n;
  using part = per_dimension<std::int64_t, n>;

  explicit past_usage(const history_settings& settings) : history_(settings) {}

  /// The session has a new tree. Quotas keep their past usage.
  void reset(const Session& session) {
    if (charged_.empty()) {
      history_.reset(session.tree(), session.now());
    } else {
      history_.follow(session.tree());
    }
    charged_.resize(session.tree().slots());
    parts_.resize(session.tree().slots());
  }
  /// The usage of x may have changed. O(depth).
  void note(Session& session, quota_id x) {
    const resources<n> now = session.books().allocated().own_usage(x);
    resources<n>& before = charged_[x.index()];
    if (now == before) return;
    history_.end_by(session.now());
    history_.release(session.tree(), x, before, session.now());
    history_.charge(session.tree(), x, now, session.now());
    before = now;
  }
  /// Time has passed, and the capacity is now as given.
  void advance(const Session& session, const resources<n>& capacity) {
    history_.end_by(session.now());
    if (capacity != capacity_) history_.set_capacity(capacity_ = capacity, session.now());
    history_.advance(session.now());
  }
  /// The time of the last change or advance.
  [[nodiscard]] instant now() const noexcept { return history_.now(); }
  /// The usage of each quota with all below it, in parts of `usage_scale`, as of that time. O(n).
  [[nodiscard]] std::span<const part> parts(const Session& session) {
    constexpr std::int64_t billion = 1'000'000'000;
    for (std::size_t d = 0; d < n; ++d) {
      history_.for_each_past_use(session.tree(), false, d, [&](quota_id x, std::int64_t use) {
        parts_[x.index()][d] = use / (billion / whole_unit_division<n>::usage_scale);
      });
    }
    return parts_;
  }
  /// The clock has moved by that span.
  void rebase(instant by) { history_.rebase(by); }
  /// All that it remembers, to persist.
  [[nodiscard]] vector<std::uint64_t> save() const {
    vector<resources<n>> told = charged_;
    told.push_back(capacity_);
    return history_.save(told);
  }
  /// Continues from that, where quotas have other ids: see `usage_history::restore`.
  [[nodiscard]] bool restore(const quota_tree<n>& tree, std::span<const std::uint64_t> numbers,
                             std::span<const quota_id> ids) {
    vector<resources<n>> told(tree.slots() + 1);
    if (!history_.restore(tree, numbers, told, ids)) return false;
    capacity_ = told.back();
    told.pop_back();
    charged_ = std::move(told);
    return true;
  }

 private:
  usage_history<n> history_;
  /// By quota: what its own jobs were last charged.
  vector<resources<n>> charged_;
  vector<part> parts_;
  resources<n> capacity_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
