// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/view.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// A type-erased cycle.
template <class Session>
class cycle_interface {
 public:
  cycle_interface() = default;
  cycle_interface& operator=(const cycle_interface&) = delete;
  virtual ~cycle_interface() = default;

  [[nodiscard]] virtual std::unique_ptr<cycle_interface> copy() const = 0;
  virtual void reset(Session& session) = 0;
  virtual void run(Session& session) = 0;
  virtual void explain(Session& session, typename Session::plan_type::pending_job& job) = 0;
  [[nodiscard]] virtual std::optional<resources<Session::n>> entitled(quota_id x) const = 0;
  [[nodiscard]] virtual bool reserves() const = 0;
  [[nodiscard]] virtual bool backs_off() const = 0;
  [[nodiscard]] virtual bool delays_preemption() const = 0;
  [[nodiscard]] virtual bool announces() const = 0;
  [[nodiscard]] virtual bool binds_by_law() const = 0;
  [[nodiscard]] virtual bool has_announced(const Session& session, job_id id) const = 0;
  [[nodiscard]] virtual std::optional<instant> wakes_at(const Session& session) const = 0;
  virtual void rebase(instant by) = 0;
  [[nodiscard]] virtual cycle_memory memory(const Session& session) const = 0;
  [[nodiscard]] virtual bool resume(Session& session, const cycle_memory& m,
                                    std::span<const quota_id> ids) = 0;

 protected:
  cycle_interface(const cycle_interface&) = default;
};

template <class Session, class Policies>
class cycle_of final : public cycle_interface<Session> {
 public:
  explicit cycle_of(const Policies& policies) : cycle_(policies) {
    static_assert(std::copy_constructible<decltype(cycle_)>,
                  "allot: any_policies can be copied, so the cycle of these policies has to be, too");
    static_assert(is_whole_cycle<decltype(cycle_), Session>());
  }

  [[nodiscard]] std::unique_ptr<cycle_interface<Session>> copy() const override {
    return std::make_unique<cycle_of>(*this);
  }
  void reset(Session& session) override { cycle_.reset(session); }
  void run(Session& session) override { cycle_.run(session); }
  void explain(Session& session, typename Session::plan_type::pending_job& job) override {
    of_cycle::explain(cycle_, session, job);
  }
  [[nodiscard]] std::optional<resources<Session::n>> entitled(quota_id x) const override {
    return of_cycle::entitled(cycle_, x);
  }
  [[nodiscard]] bool reserves() const override { return of_cycle::reserves(cycle_); }
  [[nodiscard]] bool backs_off() const override { return of_cycle::backs_off(cycle_); }
  [[nodiscard]] bool delays_preemption() const override { return of_cycle::delays_preemption(cycle_); }
  [[nodiscard]] bool announces() const override { return of_cycle::announces(cycle_); }
  [[nodiscard]] bool binds_by_law() const override { return of_cycle::binds_by_law(cycle_); }
  [[nodiscard]] bool has_announced(const Session& session, job_id id) const override {
    return of_cycle::has_announced(cycle_, session, id);
  }
  [[nodiscard]] std::optional<instant> wakes_at(const Session& session) const override {
    return of_cycle::wakes_at(cycle_, session);
  }
  void rebase(instant by) override { of_cycle::rebase(cycle_, by); }
  [[nodiscard]] cycle_memory memory(const Session& session) const override {
    return of_cycle::memory(cycle_, session);
  }
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) override {
    return of_cycle::resume(cycle_, session, m, ids);
  }

 private:
  using of_cycle = cycle_or_default<Session>;

  typename Policies::template cycle<Session> cycle_;
};

/// Type-erased policies.
template <class View, class Placement>
class policies_interface {
 public:
  using session_type = session<View, Placement>;

  policies_interface() = default;
  policies_interface& operator=(const policies_interface&) = delete;
  virtual ~policies_interface() = default;

  [[nodiscard]] virtual std::unique_ptr<const policies_interface> copy() const = 0;
  [[nodiscard]] virtual std::int64_t key(const View& view, const typename View::job& job,
                                         const queue_settings& of_quota) const = 0;
  [[nodiscard]] virtual bool follows_priority(const queue_settings& of_quota) const = 0;
  [[nodiscard]] virtual std::optional<bool> judges_rivals() const = 0;
  [[nodiscard]] virtual std::unique_ptr<cycle_interface<session_type>> make_cycle() const = 0;
  [[nodiscard]] virtual bool keeps_what_is_too_large() const = 0;
  [[nodiscard]] virtual set_growth growth() const = 0;

 protected:
  policies_interface(const policies_interface&) = default;
};

template <class View, class Placement, class Policies>
class policies_in final : public policies_interface<View, Placement> {
 public:
  using session_type = session<View, Placement>;

  explicit policies_in(Policies parts) : parts_(std::move(parts)) {
    static_assert(std::copy_constructible<Policies>,
                  "allot: any_policies can be copied, so these policies have to be, too");
  }

  [[nodiscard]] std::unique_ptr<const policies_interface<View, Placement>> copy() const override {
    return std::make_unique<const policies_in>(*this);
  }
  [[nodiscard]] std::int64_t key(const View& view, const typename View::job& job,
                                 const queue_settings& of_quota) const override {
    return parts_.jobs(view, job, of_quota);
  }
  [[nodiscard]] bool follows_priority(const queue_settings& of_quota) const override {
    return policies_or_default::follows_priority(parts_.jobs, of_quota);
  }
  [[nodiscard]] std::optional<bool> judges_rivals() const override {
    return policies_or_default::judges_rivals(parts_);
  }
  [[nodiscard]] std::unique_ptr<cycle_interface<session_type>> make_cycle() const override {
    return std::make_unique<cycle_of<session_type, Policies>>(parts_);
  }
  [[nodiscard]] bool keeps_what_is_too_large() const override {
    return policies_or_default::keeps_what_is_too_large(parts_);
  }
  [[nodiscard]] set_growth growth() const override { return policies_or_default::growth(parts_); }

 private:
  Policies parts_;
};

}  // namespace detail

/// Policies of any kind behind one type: code built on `scheduler<View, Placement, any_policies<View,
/// Placement>>` is compiled once, whichever policies are chosen at run time. A step costs one virtual call, a
/// submission two. A copy is of the same kind and shares nothing with the original.
template <job_view View, placement Placement = no_placement>
class any_policies {
  using session_type = session<View, Placement>;
  using interface = detail::policies_interface<View, Placement>;

 public:
  /// The order of jobs of the erased policies.
  class job_order {
   public:
    [[nodiscard]] std::int64_t operator()(const View& view, const typename View::job& job,
                                          const queue_settings& of_quota) const {
      return of_->key(view, job, of_quota);
    }
    /// What the erased order says of itself: see `job_order`.
    [[nodiscard]] bool follows_priority(const queue_settings& of_quota) const {
      return of_->follows_priority(of_quota);
    }

   private:
    friend any_policies;
    const interface* of_ = nullptr;
  };

  /// The cycle of the given policies; only for a session with this view and placement.
  template <class Session>
  class cycle {
   public:
    static_assert(std::is_same_v<Session, session_type>,
                  "allot: any_policies<View, Placement> are for a scheduler<View, Placement, ...>");

    explicit cycle(const any_policies& chosen) : it_(chosen.parts_->make_cycle()) {}
    /// @{
    /// One that has been moved from can only be assigned to or destroyed.
    cycle(const cycle& o) : it_(o.it_->copy()) {}
    cycle(cycle&&) noexcept = default;
    cycle& operator=(cycle o) noexcept {
      it_ = std::move(o.it_);
      return *this;
    }
    ~cycle() = default;
    /// @}

    /// Starts over on the session's tree.
    void reset(Session& session) { it_->reset(session); }
    /// Decides, as the cycle of the erased policies does.
    void run(Session& session) { it_->run(session); }
    /// Explains why a job waits, as the cycle of the erased policies does.
    void explain(Session& session, typename Session::plan_type::pending_job& job) {
      it_->explain(session, job);
    }
    /// What the quota is entitled to by the division of the erased policies; none if they divide nothing.
    [[nodiscard]] auto entitled(quota_id x) const { return it_->entitled(x); }
    /// Whether the erased policies make reservations with a time.
    [[nodiscard]] bool reserves() const { return it_->reserves(); }
    /// Whether the erased policies let no job borrow while its quota backs off.
    [[nodiscard]] bool backs_off() const { return it_->backs_off(); }
    /// Whether the erased policies evict nobody for a job that has not waited long enough.
    [[nodiscard]] bool delays_preemption() const { return it_->delays_preemption(); }
    /// Whether the erased policies announce jobs rather than nominate them.
    [[nodiscard]] bool announces() const { return it_->announces(); }
    /// Whether what the erased policies say binds a job is the law's.
    [[nodiscard]] bool binds_by_law() const { return it_->binds_by_law(); }
    /// Whether the erased policies have decided on evictions for this pending job.
    [[nodiscard]] bool has_announced(const Session& session, job_id id) const {
      return it_->has_announced(session, id);
    }
    /// When the cycle of the erased policies may decide something without an event.
    [[nodiscard]] std::optional<instant> wakes_at(const Session& session) const {
      return it_->wakes_at(session);
    }
    /// The times that the cycle of the erased policies keeps move by that span.
    void rebase(instant by) { it_->rebase(by); }
    /// What the cycle of the erased policies remembers.
    [[nodiscard]] cycle_memory memory(const Session& session) const { return it_->memory(session); }
    /// Continues from that, as the cycle of the erased policies does.
    [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) {
      return it_->resume(session, m, ids);
    }

   private:
    std::unique_ptr<detail::cycle_interface<Session>> it_;
  };

  template <class Policies>
  explicit any_policies(Policies parts);
  /// @{
  /// One that has been moved from can only be assigned to or destroyed.
  any_policies(const any_policies& o)
      : not_preemptible(o.not_preemptible), parts_(o.parts_->copy()), why_none_(o.why_none_) {
    jobs.of_ = parts_.get();
  }
  any_policies(any_policies&&) noexcept = default;
  any_policies& operator=(any_policies o) noexcept {
    jobs = o.jobs;
    not_preemptible = o.not_preemptible;
    parts_ = std::move(o.parts_);
    why_none_ = std::move(o.why_none_);
    return *this;
  }
  ~any_policies() = default;
  /// @}
  /// No policies, with the reason: those chosen at run time do not fit the view. `make_scheduler` then
  /// refuses, giving that reason.
  [[nodiscard]] static any_policies none(std::string why) {
    any_policies nothing{policies<>{}};
    nothing.why_none_ = std::move(why);
    return nothing;
  }

  /// Why the policies can't be used; empty if they can.
  [[nodiscard]] const std::string& why_none() const noexcept { return why_none_; }
  /// What the guard of the erased policies says of itself: see `victim_guard`.
  [[nodiscard]] std::optional<bool> judges_rivals() const { return parts_->judges_rivals(); }

  /// Whether jobs that are larger than the cluster may wait under the erased policies.
  [[nodiscard]] bool keeps_what_is_too_large() const { return parts_->keeps_what_is_too_large(); }

  /// The order of the jobs of one quota, behind one type.
  job_order jobs{};
  /// Which capacity non-preemptible jobs use; as in `policies`.
  capacity_kind not_preemptible = capacity_kind::any;

 private:
  std::unique_ptr<const interface> parts_;
  std::string why_none_{};
};

// Outside the class, so that an `extern template` saves compiling the cycle of these policies again.
template <job_view View, placement Placement>
template <class Policies>
any_policies<View, Placement>::any_policies(Policies parts)
    : not_preemptible(parts.not_preemptible),
      parts_(std::make_unique<detail::policies_in<View, Placement, Policies>>(std::move(parts))) {
  static_assert(detail::are_policies_of<Policies, View>());
  jobs.of_ = parts_.get();
}

}  // namespace v0
}  // namespace allot
