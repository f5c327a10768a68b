// SPDX-License-Identifier: BSL-1.0
#include "lab/io/deviation.hpp"

#include <boost/math/distributions/students_t.hpp>

namespace allot {
inline namespace v0 {
namespace lab {

double student_t_95(double degrees) {
  return boost::math::quantile(boost::math::students_t{degrees}, 0.975);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
