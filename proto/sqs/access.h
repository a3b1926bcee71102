// SPDX-License-Identifier: Apache-2.0
// The caller's permissions on queues.
//
//   no keys configured -> every caller may do everything
//   keys               -> the caller may do everything to its own queues, and to other queues as
//                         much as their policies allow; the owner's actions stay with the owner
//
// A missing queue of another account gets the same response as a forbidden one.
//
// Owner:  functions over an SqsState.
// Source: SQS Developer Guide, "Overview of managing access".
#pragma once

#include "proto/sqs/state.h"

namespace pawl::sqs {

// True if the caller may perform `action` on the queue.
bool may(const SqsState& s, SqsAction action, const QueueConfig& queue);

// The named queue; null if it does not exist or the call's action is not allowed on it. An empty
// account is the caller's. Without keys, clients send arbitrary accounts: a queue that is not found
// is then looked up in the server's own account.
const ConfigPtr* find_allowed_queue(const SqsState& s, std::string_view account,
                                    std::string_view name);

// Like find_allowed_queue(), but refuses the call if the result is null; the error text names the
// queue `as_given`.
const ConfigPtr* allowed_queue(SqsState& s, std::string_view account, std::string_view name,
                               std::string_view as_given);

}  // namespace pawl::sqs
