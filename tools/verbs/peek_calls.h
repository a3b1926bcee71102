// SPDX-License-Identifier: Apache-2.0
// Calls of PeekMessages, which shows messages without receiving them.
//
// Limits: call_messages_max messages a call; more are shown with further calls.
// Errors: to stderr; the functions return the exit code of the verb.
// Owner:  one verb.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "net/sqs_client/sqs_client.h"
#include "proto/text/json_dom.h"

namespace pawl {

struct PeekRequest {
  std::string queue;  // its name or URL
  std::string state;  // as in the API; empty: any
  std::string group;
  std::string attribute;  // NAME=VALUE
  std::string filter;     // an SNS filter policy over attributes; empty: any
  std::uint64_t count = 20;
};

// The error text for the value of --filter; empty: it is valid.
std::string check_filter(const std::string& text);

// Calls act(message) for each of the oldest messages of the queue, at most `count`. `client` is one
// of pawl_api.
int for_each_peeked(sqs_client::SqsClient& client, const PeekRequest& asked,
                    const std::function<void(const JsonValue&)>& act);

}  // namespace pawl
