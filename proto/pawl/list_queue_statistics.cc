// SPDX-License-Identifier: Apache-2.0
// ListQueueStatistics: the counts, figures and relevant attributes of the caller's queues.
#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "proto/pawl/actions.h"
#include "proto/pawl/statistics_writer.h"
#include "proto/text/base64.h"

namespace pawl {
namespace {

using F = SqsFault;

constexpr std::uint64_t queues_max = 1000;
constexpr std::size_t queue_name_bytes_max = 80;
// The response ends with the queue that reaches this size.
constexpr std::size_t page_bytes_max = 1 << 20;

// A token is the last name of the previous page, in base64.
bool read_page_token(PawlState& s, std::string& after) {
  std::string_view token;
  if (!s.members.text("NextToken", token, s.refusal())) return false;
  if (token.empty() || (decode_base64(token, after) && after.size() <= queue_name_bytes_max))
    return true;
  return s.refusal().because(F::invalid_parameter_value,
                             "NextToken is {}; it must be that of the response before.",
                             shown(token));
}

bool read_prefix(PawlState& s, std::string_view& prefix) {
  if (!s.members.text("QueueNamePrefix", prefix, s.refusal())) return false;
  if (prefix.size() <= queue_name_bytes_max) return true;
  return s.refusal().because(F::invalid_parameter_value,
                             "QueueNamePrefix has {} bytes; a name has {} at most.", prefix.size(),
                             queue_name_bytes_max);
}

CallStep write_page(PawlState& s) {
  CHECK(s.count == 0 || !s.items.empty(), "{} queues without text", s.count);
  s.body = R"({"Queues":[)" + s.items + ']';
  if (!s.next_token.empty()) {
    s.body += R"(,"NextToken":")";
    append_base64(
        s.body, {reinterpret_cast<const std::uint8_t*>(s.next_token.data()), s.next_token.size()});
    s.body += '"';
  }
  s.body += '}';
  return CallStep::respond;
}

}  // namespace

CallStep list_queue_statistics(PawlState& s) {
  std::string after;
  std::string_view prefix;
  s.limit = queues_max;
  if (!s.members.number("MaxResults", 1, queues_max, s.limit, s.refusal()) ||
      !read_prefix(s, prefix) || !read_page_token(s, after))
    return CallStep::respond;
  CHECK(s.limit >= 1 && s.limit <= queues_max, "a page of {} queues", s.limit);
  std::vector<ConfigPtr> queues =
      s.call->directory->list(s.call->account, prefix, after, s.limit + 1);
  if (queues.size() > s.limit) {
    queues.resize(s.limit);
    s.next_token = queues.back()->name;
  }
  const CallStep step = s.statistics.begin(std::move(queues));
  return step == CallStep::route ? step : write_page(s);
}

CallStep list_queue_statistics_result(PawlState& s) {
  const CallStep step = s.statistics.resume([&s](const QueueStatistics& found) {
    CHECK(found.config->account == s.call->account, "a queue of account {} for {}",
          found.config->account, s.call->account);
    if (s.count++ > 0) s.items += ',';
    write_statistics(found, *s.call, s.items);
    if (s.items.size() < page_bytes_max) return true;
    s.next_token = found.config->name;
    return false;
  });
  return step == CallStep::route ? step : write_page(s);
}

}  // namespace pawl
