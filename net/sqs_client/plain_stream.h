// SPDX-License-Identifier: Apache-2.0
// A connection of our own to an http endpoint, without a proxy.
//
// Limits: connecting to all addresses of the host waits at most the timeout, plus the time of the
//         name server.
// Errors: CallError with kind unreachable.
// Owner:  its SqsClient.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "net/sqs_client/call_error.h"
#include "net/sqs_client/endpoint.h"
#include "net/sqs_client/stream.h"

namespace pawl::sqs_client {

using OpenedStream = std::expected<std::unique_ptr<Stream>, CallError>;

OpenedStream open_plain_stream(const Endpoint& endpoint, const StreamOptions& options);

// The error of an endpoint to which no connection can be made.
CallError unreachable_error(const Endpoint& endpoint, const std::string& reason);

}  // namespace pawl::sqs_client
