// SPDX-License-Identifier: Apache-2.0
// Reads Pawl.ListQueueStatistics into QueueReadings.
//
// Errors: those of the calls; a response of another form is one of kind `broken`.
// Owner:  one verb.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "net/sqs_client/sqs_client.h"
#include "proto/text/json_dom.h"
#include "tools/queue_view.h"

namespace pawl {

// All queues of the caller, page after page. `client` is one of the API Pawl.
std::expected<std::vector<QueueReading>, sqs_client::CallError> read_statistics(
    sqs_client::SqsClient& client);

// A queue of a response to GetQueueAttributes, without figures.
QueueReading reading_of(const std::string& name, const JsonValue& response);

// True: each visible message of the FIFO queue waits for another one of its group. It looks at
// 1,000 of them at most. False too where the caller may not look.
bool all_visible_wait(sqs_client::SqsClient& client, const std::string& url);

}  // namespace pawl
