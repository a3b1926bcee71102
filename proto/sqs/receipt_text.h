// SPDX-License-Identifier: Apache-2.0
// ReceiptHandle as clients write it: the handle of a delivery, or the id of a message.
//
//   handle                                       of a delivery, in base64
//   handle;x-return=uncounted                    change of visibility: the delivery does not count
//   handle;x-return=uncounted,delay=30s          and the message waits that long
//   x-id:MessageId                               cancels the message; or sets its delivery time
//   x-id:MessageId;x-even-in-flight              delete: ends a message in flight at its return
//
// Units:  delays by proto/text/duration.h.
// Limits: a delay of at most ReceiptRules::wait_max.
// Errors: false. Without a `why` the text is none of pawl's forms, and AWS's error says enough.
// Owner:  a free function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/request.h"

namespace pawl {

struct ReceiptRules {
  Op op{};            // delete_message or change_visibility
  Duration wait_max;  // of the queue: QueueConfig::visibility_limit()
};

struct ReceiptText {
  ReceiptEntry entry;             // without `visibility`
  std::optional<Duration> delay;  // in place of the VisibilityTimeout
};

inline constexpr std::string_view by_id_prefix = "x-id:";
inline constexpr std::string_view even_in_flight_suffix = ";x-even-in-flight";

[[nodiscard]] bool read_receipt(std::string_view text, const ReceiptRules& rules, ReceiptText& out,
                                std::string& why);

}  // namespace pawl
