// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// The ids of extra pods, which no session knows: of a generation that no job has. They come after the ids of
/// all jobs, the last one first.
struct extra_pod_ids {
  [[nodiscard]] static constexpr job_id of(std::size_t number) noexcept {
    return job_id{job_id::none().index() - 1 - number, job_id::unused_generation};
  }
  [[nodiscard]] static constexpr bool contain(job_id id) noexcept {
    return id.generation() == job_id::unused_generation;
  }
  /// Precondition: it is one of them.
  [[nodiscard]] static constexpr std::size_t number(job_id id) noexcept {
    return job_id::none().index() - 1 - id.index();
  }
};

/// Something for each job, by its id. An extra pod has none: to ask for it is a mistake that is told, not a
/// vector of four billion.
template <class T>
class by_job {
 public:
  /// That of the job; that of a new one if none was set.
  [[nodiscard]] T& operator[](job_id id) {
    ALLOT_ASSERT(!extra_pod_ids::contain(id), "an extra pod has no entry");
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
