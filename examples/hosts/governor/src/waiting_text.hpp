// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/engine.hpp"

#include <allot/scheduler/sentences.hpp>

#include <string>

namespace allot_governor {

/// Why a job waits and when it starts: "waits: ...; it starts at TIME at the latest". For its user also how
/// many go before it. Empty if that is not known yet.
[[nodiscard]] std::string waiting_text(engine& of, const job_name& job, allot::addressee whom,
                                       milliseconds now);

}  // namespace allot_governor
