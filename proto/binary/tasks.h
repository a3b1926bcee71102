// SPDX-License-Identifier: Apache-2.0
// The verbs about tasks of a queue: moves of dead letters, replays.
//
// Owner:  free functions; session.cc lists them.
// Source: proto/PROTOCOL.md
#pragma once

#include "proto/binary/state.h"

namespace pawl::binary {

BinaryNext start_move(BinaryCallState& s, const BinaryArguments& call);
BinaryNext start_move_result(BinaryCallState& s, BinarySessionState& session,
                             const Directory& directory);
BinaryNext cancel_move(BinaryCallState& s, const BinaryArguments& call);
BinaryNext cancel_move_result(BinaryCallState& s, BinarySessionState& session,
                              const Directory& directory);
BinaryNext list_moves(BinaryCallState& s, const BinaryArguments& call);
BinaryNext list_moves_result(BinaryCallState& s, BinarySessionState& session,
                             const Directory& directory);
BinaryNext start_replay(BinaryCallState& s, const BinaryArguments& call);
BinaryNext start_replay_result(BinaryCallState& s, BinarySessionState& session,
                               const Directory& directory);
BinaryNext cancel_replay(BinaryCallState& s, const BinaryArguments& call);
BinaryNext cancel_replay_result(BinaryCallState& s, BinarySessionState& session,
                                const Directory& directory);
BinaryNext list_replays(BinaryCallState& s, const BinaryArguments& call);
BinaryNext list_replays_result(BinaryCallState& s, BinarySessionState& session,
                               const Directory& directory);

}  // namespace pawl::binary
