// SPDX-License-Identifier: Apache-2.0
// write_statistics: one queue in a response of ListQueueStatistics.
//
//   {"QueueName":"q","QueueUrl":...,
//    "Attributes":{"ApproximateNumberOfMessages":"3",...,"VisibilityTimeout":"30",...},
//    "Statistics":{"ApproximateAgeOfOldestMessage":12.5,"NumberOfMessagesSent":3,...}}
//
// A queue without a label (core/queue/labelled_queues.h) has no Statistics.
//
// Units:  seconds, and those of SQS's attributes; Timestamp is epoch ms.
// Errors: none.
// Owner:  the call.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/pawl/statistics_series.h"
#include "proto/sqs/state.h"

namespace pawl {

// Appends to `out`; the caller adds commas between queues.
void write_statistics(const QueueStatistics& found, const SqsState& call, std::string& out);

// The attributes that it shows, by their names in SQS.
std::span<const std::string_view> shown_attributes();

}  // namespace pawl
