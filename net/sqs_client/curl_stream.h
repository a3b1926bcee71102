// SPDX-License-Identifier: Apache-2.0
// A connection to an https endpoint, made by libcurl with its proxy settings, and TLS 1.2 or newer.
//
// libcurl connects, handshakes and verifies the certificate; after that it carries our bytes, so
// responses are parsed and limited as those of a plain connection. CURLOPT_NOSIGNAL is left off:
// with it libcurl would let a write to a closed connection raise SIGPIPE.
//
// Limits: connecting, with the name server and the handshake, waits at most the timeout.
// Errors: CallError with kind no_library, unreachable or untrusted.
// Owner:  its SqsClient; one thread.
// Source: CURLOPT_CONNECT_ONLY(3), curl_easy_send(3), curl_easy_recv(3), CURLOPT_CAINFO(3).
#pragma once

#include "net/sqs_client/endpoint.h"
#include "net/sqs_client/plain_stream.h"
#include "net/sqs_client/stream.h"

namespace pawl::sqs_client {

OpenedStream open_curl_stream(const Endpoint& endpoint, const StreamOptions& options);

}  // namespace pawl::sqs_client
