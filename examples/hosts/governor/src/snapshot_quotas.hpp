// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/snapshot.hpp"

#include <allot/lab/quotas_file.hpp>

#include <cstddef>

namespace allot_governor {

[[nodiscard]] amounts_row row_of(const amounts& a, std::size_t resources);
/// The policy, the quotas, what they lend, and who is next; what is used as that scheduler has it, if there
/// is one of these quotas.
void show_quotas(snapshot& s, const allot::lab::quotas_file& file, const engine* of);

}  // namespace allot_governor
