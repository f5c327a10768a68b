// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: what each team owns, lends, borrows and uses. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

struct access_decision;
enum class access_reason : std::uint8_t;
struct access_rule;
template <std::size_t N>
struct add_quota;
enum class bound : std::uint8_t;
enum class capacity_kind : std::uint8_t;
class fair_weight;
template <std::size_t N>
class ledger;
class limit;
struct loan;
template <std::size_t N>
class loan_book;
struct move_quota;
struct principal;
struct quota_edge;
template <std::size_t N>
struct quota_spec;
template <std::size_t N>
class quota_tree;
struct remove_quota;
template <std::size_t N>
struct resize_quota;
template <std::size_t N>
struct respecified_quota;
template <std::size_t N>
struct reweight_quota;
class role_table;
struct shortfall;
struct supply;
struct workspace;
struct workspace_member;

}  // namespace v0
}  // namespace allot
