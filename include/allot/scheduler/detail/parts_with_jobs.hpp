// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/guard.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// A victim order that is shown the host's jobs, for a search that knows none.
template <class Order, class Session>
class order_shown_jobs {
 public:
  static constexpr std::size_t n = Session::n;
  using view = typename Session::view_type;

  // Implicit, as a cycle passes on the host's part.
  order_shown_jobs(Order order) : order_(std::move(order)) {}

  void look_at(const Session& session) noexcept { session_ = &session; }

  [[nodiscard]] auto operator()(const ledger<n>& l, const victim_candidate<n>& v) const {
    return order_(session_->view(), session_->jobs().at(v.next.id).what, l, v);
  }
  [[nodiscard]] bool within_quota(const running_job<n>& a, const running_job<n>& b,
                                  instant now) const requires orders_jobs_within_quota<Order, view> {
    const auto yields_before = [&](const running_job<n>& x, const running_job<n>& y) {
      return order_.within_quota(session_->view(), session_->jobs().at(x.id).what,
                                 session_->jobs().at(y.id).what, now);
    };
    if (yields_before(a, b)) return true;
    return !yields_before(b, a) && compare_as_victims(a, b) < 0;
  }

 private:
  [[no_unique_address]] Order order_;
  const Session* session_ = nullptr;
};

/// What a guard declares of all its judgements.
template <class Guard>
struct declared_by {};
template <monotone_guard Guard>
struct declared_by<Guard> {
  static constexpr bool less_fair_when_larger = Guard::less_fair_when_larger;
};

/// Likewise a guard.
template <class Guard, class Session>
class guard_shown_jobs : public declared_by<Guard> {
 public:
  static constexpr std::size_t n = Session::n;

  guard_shown_jobs(Guard guard) : guard_(std::move(guard)) {}

  void look_at(const Session& session) noexcept { session_ = &session; }

  [[nodiscard]] auto operator()(const ledger<n>& l, const beneficiary<n>& b,
                                const victim_candidate<n>& v) const {
    return guard_(session_->view(), session_->jobs().at(b.id).what, session_->jobs().at(v.next.id).what, l, b,
                  v);
  }
  [[nodiscard]] bool judges_rivals() const requires rival_guard<Guard> { return guard_.judges_rivals(); }

 private:
  [[no_unique_address]] Guard guard_;
  const Session* session_ = nullptr;
};

/// Likewise a protection.
template <class Protection, class Session>
class protection_shown_jobs {
 public:
  static constexpr std::size_t n = Session::n;

  protection_shown_jobs(Protection protection) : protection_(std::move(protection)) {}

  void look_at(const Session& session) noexcept { session_ = &session; }

  [[nodiscard]] bool operator()(const ledger<n>& l, const beneficiary<n>& b, const victim_candidate<n>& v,
                                const search_progress<n>& progress) const {
    return protection_(session_->view(), session_->jobs().at(b.id).what, session_->jobs().at(v.next.id).what,
                       l, b, v, progress);
  }

 private:
  [[no_unique_address]] Protection protection_;
  const Session* session_ = nullptr;
};

// The part itself if it does without the jobs.
template <class Order, class Session>
using order_in = std::conditional_t<victim_order<Order, Session::n>, Order, order_shown_jobs<Order, Session>>;
template <class Guard, class Session>
using guard_in = std::conditional_t<victim_guard<Guard, Session::n>, Guard, guard_shown_jobs<Guard, Session>>;
template <class Protection, class Session>
using protection_in = std::conditional_t<victim_protection<Protection, Session::n>, Protection,
                                         protection_shown_jobs<Protection, Session>>;

/// Shows a part the jobs of the session, which has moved if its scheduler has.
template <class HostPart, class Part, class Session>
void show_jobs(Part& part, const Session& session) {
  if constexpr (!std::is_same_v<HostPart, Part>) part.look_at(session);
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
