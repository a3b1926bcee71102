// SPDX-License-Identifier: Apache-2.0
// The verbs about queues: their names, attributes, counts and tags.
//
// Owner:  free functions; session.cc lists them.
// Source: proto/PROTOCOL.md
#pragma once

#include "proto/binary/state.h"

namespace pawl::binary {

BinaryNext open_queue(BinaryCallState& s, const BinaryArguments& call);
BinaryNext create_queue(BinaryCallState& s, const BinaryArguments& call);
BinaryNext create_queue_result(BinaryCallState& s, BinarySessionState& session,
                               const Directory& directory);
BinaryNext delete_queue(BinaryCallState& s, const BinaryArguments& call);
BinaryNext set_attributes(BinaryCallState& s, const BinaryArguments& call);
BinaryNext get_attributes(BinaryCallState& s, const BinaryArguments& call);
BinaryNext get_attributes_result(BinaryCallState& s, BinarySessionState& session,
                                 const Directory& directory);
BinaryNext list_queues(BinaryCallState& s, const BinaryArguments& call);
BinaryNext list_sources(BinaryCallState& s, const BinaryArguments& call);
BinaryNext purge(BinaryCallState& s, const BinaryArguments& call);
BinaryNext stats(BinaryCallState& s, const BinaryArguments& call);
BinaryNext stats_result(BinaryCallState& s, BinarySessionState& session,
                        const Directory& directory);
BinaryNext get_tags(BinaryCallState& s, const BinaryArguments& call);
BinaryNext set_tags(BinaryCallState& s, const BinaryArguments& call);

}  // namespace pawl::binary
