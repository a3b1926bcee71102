// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/statistics_writer.h"

#include <fmt/core.h>

#include <cmath>
#include <iterator>

#include "core/base/check.h"
#include "proto/sqs/queue_attributes.h"
#include "proto/sqs/result.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

constexpr std::string_view attribute_names_shown[] = {
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
    "QueueArn",
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "FifoQueue",
    "x-durability",
    "x-lag-target",
    "x-retention-from",
};

struct NamedCounter {
  QueueCounter counter;
  std::string_view name;
};

using C = QueueCounter;
constexpr NamedCounter named_counters[] = {
    {C::sent,           "NumberOfMessagesSent"             },
    {C::arrived,        "NumberOfMessagesArrived"          },
    {C::received,       "NumberOfMessagesReceived"         },
    {C::first_received, "NumberOfMessagesDelivered"        },
    {C::late,           "NumberOfMessagesDeliveredLate"    },
    {C::deleted,        "NumberOfMessagesDeleted"          },
    {C::late_deletes,   "NumberOfMessagesDeletedLate"      },
    {C::done_receives,  "NumberOfReceivesOfDeletedMessages"},
    {C::returned,       "NumberOfMessagesReturned"         },
    {C::lease_expired,  "NumberOfLeasesExpired"            },
    {C::backed_off,     "NumberOfMessagesBackedOff"        },
    {C::expired,        "NumberOfMessagesExpired"          },
    {C::cancelled,      "NumberOfMessagesCancelled"        },
    {C::dead_lettered,  "NumberOfMessagesDeadLettered"     },
    {C::redriven,       "NumberOfMessagesRedriven"         },
    {C::deduplicated,   "NumberOfMessagesDeduplicated"     },
    {C::purged,         "NumberOfMessagesPurged"           },
    {C::set_aside,      "NumberOfMessagesSetAside"         },
};
static_assert(std::size(named_counters) == queue_counters);

QueueAttributeSet selected_attributes() {
  Refusal refusal;
  QueueAttributeSet set = 0;
  CHECK(select_queue_attributes(attribute_names_shown, set, refusal), "{}", refusal.text);
  return set;
}

// A JSON number with three digits behind the point at most.
class Decimals {
 public:
  Decimals(JsonWriter& json, std::string& out) : json_(json), out_(out) {}

  void member(std::string_view name, double value) {
    CHECK(std::isfinite(value) && value >= 0, "{} is {}", name, value);
    json_.key(name);
    out_ += fmt::format("{}", std::round(value * 1000) / 1000);
  }

 private:
  JsonWriter& json_;
  std::string& out_;
};

void write_figures(const QueueStatistics& found, const TimeShift& shift, JsonWriter& json,
                   std::string& out) {
  const QueueFigures& figures = *found.figures;
  Decimals decimals(json, out);
  json.key("Statistics");
  json.begin_object();
  json.member("Timestamp", shift.wall(found.now).ms);
  decimals.member("ApproximateAgeOfOldestMessage", found.oldest_age_seconds());
  for (const NamedCounter& counted : named_counters)
    json.member(counted.name, figures.sums[counted.counter]);
  const LeaseTimes& leases = figures.leases;
  const auto percentile = [&leases](double share) {
    return static_cast<double>(leases.percentile(share).ms) / 1000.0;
  };
  json.member("NumberOfLeases", leases.count());
  decimals.member("LeaseSecondsSum", static_cast<double>(leases.sum_ms()) / 1000.0);
  decimals.member("LeaseSecondsP50", percentile(0.5));
  decimals.member("LeaseSecondsP99", percentile(0.99));
  decimals.member("SentPerSecond", figures.sent_per_second);
  decimals.member("DeletedPerSecond", figures.deleted_per_second);
  if (const auto drain = found.drain_seconds()) decimals.member("DrainSeconds", *drain);
  decimals.member("WorkersWanted", found.workers_wanted());
  json.end_object();
}

}  // namespace

std::span<const std::string_view> shown_attributes() { return attribute_names_shown; }

void write_statistics(const QueueStatistics& found, const SqsState& call, std::string& out) {
  CHECK(found.config != nullptr && call.config != nullptr, "statistics of no queue");
  static const QueueAttributeSet attributes = selected_attributes();
  JsonWriter json(out);
  SqsResult result(out, SqsForm::json);
  json.begin_object();
  json.member("QueueName", std::string_view(found.config->name));
  std::string url;
  append_queue_url(url, call, found.config->account, found.config->name);
  json.member("QueueUrl", std::string_view(url));
  write_queue_attributes(attributes, *found.config, found.counts, *call.config, result);
  if (found.figures) write_figures(found, *call.config->shift, json, out);
  json.end_object();
}

}  // namespace pawl
