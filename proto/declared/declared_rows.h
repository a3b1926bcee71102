// SPDX-License-Identifier: Apache-2.0
// DeclaredRows: the queues, topics, subscriptions, schedules and messages that a configuration file
// declares.
//
// Units:  texts as in SQS and SNS; `delay` in seconds.
// Owner:  values. They do not change after the file was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// A key of a row with its value. `where` is its place in the file, for errors.
struct DeclaredValue {
  std::string key, value, where;
};

enum class DeclaredKind : std::uint8_t { queue, topic, subscription, message, schedule };

struct DeclaredRow {
  DeclaredKind kind{};
  std::string where;
  std::string account;
  // That of the queue, also a message's; of the topic, also a subscription's; of the schedule.
  std::string name;
  std::string endpoint;        // of a subscription: the ARN of a queue
  std::string body, dedup_id;  // of a message; empty: none
  std::string group;           // of a message; empty: none. Of a schedule: its group
  std::int64_t delay = -1;     // of a message; -1: the queue's own
  // SQS's or SNS's attributes; of a message: its attributes, all of type String; of a schedule: the
  // other keys of its table, with ARNs of queues and topics.
  std::vector<DeclaredValue> attributes;
  std::vector<DeclaredValue> tags;

  bool is_fifo() const { return name.ends_with(".fifo"); }
  // Null: the row does not set it.
  const DeclaredValue* find(std::string_view attribute) const {
    for (const DeclaredValue& one : attributes)
      if (one.key == attribute) return &one;
    return nullptr;
  }
};

using DeclaredRows = std::vector<DeclaredRow>;

// "queue orders": for errors.
inline std::string describe(const DeclaredRow& row) {
  switch (row.kind) {
    case DeclaredKind::queue:
      return "queue " + row.name;
    case DeclaredKind::topic:
      return "topic " + row.name;
    case DeclaredKind::subscription:
      return "subscription to topic " + row.name;
    case DeclaredKind::message:
      return "message for queue " + row.name;
    case DeclaredKind::schedule:
      return "schedule " + row.name;
  }
  return row.name;
}

}  // namespace pawl
