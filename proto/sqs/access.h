// SPDX-License-Identifier: Apache-2.0
// The caller's account, and its permissions on queues.
//
//   no keys configured -> every caller is the server's own account and may do everything
//   keys               -> the caller is the account of the signing key; it may do everything to its
//                         own queues, and to other queues as much as their policies allow; the
//                         owner's actions stay with the owner
//
// A missing queue of another account gets the same response as a forbidden one.
//
// Owner:  functions over an SqsState.
// Source: SQS Developer Guide, "Overview of managing access".
#pragma once

#include "core/time.h"
#include "proto/http/parser.h"
#include "proto/sqs/state.h"

namespace pawl::sqs {

// Sets the account of the call. If a required signature is missing or wrong, refuses the call and
// returns false.
[[nodiscard]] bool know_caller(SqsState& s, const HttpRequest& http);

// Checks the signature by the head alone. If no body could match it, refuses the call and returns
// false. s.verified becomes true if it is right for the body whose digest the head has.
[[nodiscard]] bool check_head(SqsState& s, const HttpRequest& http);

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
