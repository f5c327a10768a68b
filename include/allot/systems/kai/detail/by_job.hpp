// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Something for each job, by its id.
template <class T>
class by_job {
 public:
  /// That of the job; that of a new one if none was set.
  [[nodiscard]] T& operator[](job_id id) {
    ALLOT_ASSERT(!id.is_none(), "there is no entry of no job");
    if (all_.size() <= id.index()) all_.resize(id.index() + 1);
    return all_[id.index()];
  }
  /// The same, to look only; null if none was set.
  [[nodiscard]] const T* find(job_id id) const noexcept {
    return id.index() < all_.size() ? &all_[id.index()] : nullptr;
  }
  [[nodiscard]] T* find(job_id id) noexcept { return id.index() < all_.size() ? &all_[id.index()] : nullptr; }
  void clear() noexcept { all_.clear(); }

 private:
  vector<T> all_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
