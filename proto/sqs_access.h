// Who calls, and what the caller may do to a queue.
//
//   no keys configured -> everybody is the server's own account and may do everything
//   keys               -> the account of the key that signed; all to its own queues, to others' what
//                         their policy allows; the owner's actions stay with the owner
//
// A queue of another account that is not there is answered as one that is forbidden.
//
// Owner:  functions over an SqsState.
// Source: SQS Developer Guide, "Overview of managing access".
#pragma once

#include "core/time.h"
#include "proto/http.h"
#include "proto/sqs_state.h"

namespace pawl::sqs {

// Sets the account of the call. False, and refused, when a signature is wanted and not right.
[[nodiscard]] bool know_caller(SqsState& s, const HttpRequest& http);

// From the head alone. False, and refused, when the signature cannot be right whatever the body is; s.verified is true
// when it is right for the body that the head names.
[[nodiscard]] bool check_head(SqsState& s, const HttpRequest& http);

// Whether the caller may do that to the queue.
bool may(const SqsState& s, SqsAction action, const QueueConfig& queue);

// The queue that the caller names, if there is one and the action of the call is allowed. Else null.
// An account left out is the caller's. Without keys clients write any account: an unknown one means
// the server's own.
const ConfigPtr* find_allowed_queue(const SqsState& s, std::string_view account,
                                    std::string_view name);

// The same, and a null is refused; `as_given` is the name of the queue in the text of the refusal.
const ConfigPtr* allowed_queue(SqsState& s, std::string_view account, std::string_view name,
                               std::string_view as_given);

}  // namespace pawl::sqs
