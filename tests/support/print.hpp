// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/text.hpp>
#include <allot/quota/weight.hpp>

#include <doctest/doctest.h>

#include <string>

// Makes a failed CHECK print the compared values.
namespace allot {
inline namespace v0 {

inline doctest::String toString(quantity q) {
  return to_string(q).c_str();
}
inline doctest::String toString(fair_weight w) {
  return to_string(quantity::milli(w.in_milli())).c_str();
}
template <class Tag>
doctest::String toString(id<Tag> x) {
  return x ? std::to_string(x.index()).c_str() : "none";
}

}  // namespace v0
}  // namespace allot
