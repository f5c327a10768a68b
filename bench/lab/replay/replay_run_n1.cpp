// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/replay_run_impl.hpp"

namespace allot {
inline namespace v0 {
namespace lab {

template replay_stop run_replay<1>(scenario&, const replay_streams&, replay_result&, const replay_control&);

}  // namespace lab
}  // namespace v0
}  // namespace allot
