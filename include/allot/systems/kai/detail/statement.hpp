// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>

#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// What a cycle has charged to quotas, and which places it has taken, so that it can be undone: all of it at
/// the end of the cycle, and what a search tries as soon as it is known what comes of it (KAI's word).
template <class Session>
class statement {
 public:
  static constexpr std::size_t n = Session::n;
  using place = typename Session::place;
  using places_type = typename Session::placement_type;

  void bind(share_accounts<n>& accounts, places_type& places) noexcept {
    accounts_ = &accounts, places_ = &places;
  }

  void charge(quota_id x, const resources<n>& request, capacity_kind in) {
    accounts_->charge(x, request, in);
    charges_.push_back({x, request, in, true});
  }
  void release(quota_id x, const resources<n>& request, capacity_kind in) {
    accounts_->release(x, request, in);
    charges_.push_back({x, request, in, false});
  }
  /// Places that were taken and are to be released at the end of the cycle.
  void keep(const place& at) { taken_.push_back(at); }

  /// The number of charges so far.
  [[nodiscard]] std::size_t checkpoint() const noexcept { return charges_.size(); }
  /// Takes back all charges since then.
  void rollback(std::size_t checkpoint) {
    for (; charges_.size() > checkpoint; charges_.pop_back()) {
      const entry& e = charges_.back();
      e.is_charge ? accounts_->release(e.quota, e.request, e.in)
                  : accounts_->charge(e.quota, e.request, e.in);
    }
  }
  /// Takes back everything.
  void discard() {
    rollback(0);
    for (; !taken_.empty(); taken_.pop_back()) places_->release(taken_.back());
  }

  /// All that happens to charges and places during its life is taken back.
  class trial {
   public:
    explicit trial(statement& all) : all_(all), checkpoint_(all.checkpoint()), places_(all.places_->save()) {}
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;
    ~trial() {
      all_.rollback(checkpoint_);
      all_.places_->rollback(std::move(places_));
    }

   private:
    statement& all_;
    std::size_t checkpoint_;
    decltype(std::declval<places_type&>().save()) places_;
  };

 private:
  struct entry {
    quota_id quota;
    resources<n> request;
    capacity_kind in = capacity_kind::any;
    bool is_charge = true;
  };

  share_accounts<n>* accounts_ = nullptr;
  places_type* places_ = nullptr;
  vector<entry> charges_;
  vector<place> taken_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
