// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: the words everyone speaks. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

template <class Item>
class change_feed;
template <std::size_t N>
class dimension_names;
template <std::size_t N>
class exact_sum;
template <class Tag>
class id;
template <class Entry>
class journal;
template <class T, std::size_t N>
class per_dimension;
struct problem;
enum class problem_code : std::uint8_t;
class quantity;
class ratio;
template <class Tag>
class recycled_id;
template <class T>
class result;
struct savepoint;
template <class Id>
class stamped_set;
template <class T>
class vector;

}  // namespace v0
}  // namespace allot
