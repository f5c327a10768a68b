// SPDX-License-Identifier: BSL-1.0
#include "lab/relation_word.hpp"

namespace allot {
inline namespace v0 {
namespace lab {

std::string_view word_of(relation how) noexcept {
  switch (how) {
    case relation::borrower:
      return "reclaim";
    case relation::descendant:
      return "children";
    case relation::same_quota:
      return "priority";
    case relation::rival:
      return "fair_share";
    case relation::borrower_while_borrowing:
      return "reclaim_while_borrowing";
    case relation::consolidation:
      return "consolidate";
    case relation::resized:
      return "resized";
    case relation::time_limit:
      return "time_limit";
  }
  return "";
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
