// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/host_words.hpp"

namespace allot_kueue {

inline constexpr allot_governor::host_words kueue_words{.key = "kueue",
                                                        .host = "Kueue",
                                                        .server = "the API server",
                                                        .server_key = "api_server",
                                                        .client = "the API client",
                                                        .comment = "condition allot.dev/Waiting"};

}  // namespace allot_kueue
