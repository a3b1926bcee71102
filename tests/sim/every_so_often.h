// SPDX-License-Identifier: Apache-2.0
// EverySoOften: reads schedules for the tests of the engine that fires them.
//
// The definition is a text such as "every=60 from=1000 queue=0/a catch=all": seconds between fires,
// and the time of the first, in ms. With queue=* it is sent to all queues of the account, as by a
// topic. `paused`, `skip`, `delete` and times=N say the rest. The body of a message has the time of
// its fire, and the name of the schedule.
//
// Units:  Instant ms of the wall clock.
// Owner:  the test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "core/queue/schedule.h"

namespace pawl::sim {

class EverySoOften final : public ScheduleReader {
 public:
  ScheduleTerms terms(const QueueConfig& row) const override {
    const auto parts = parts_of(row);
    ScheduleTerms terms;
    terms.enabled = parts.contains("every") && !parts.contains("paused");
    terms.skips_overlap = parts.contains("skip");
    terms.ends_deleted = parts.contains("delete");
    if (parts.contains("catch"))
      terms.catch_up = parts.at("catch") == "all" ? CatchUp::all : CatchUp::none;
    terms.from = Instant{number(parts, "from") - 1};
    terms.queue = parts.at("queue") == "*" ? "" : parts.at("queue");
    return terms;
  }
  Instant next(const QueueConfig& row, Instant after) const override {
    const auto parts = parts_of(row);
    const std::int64_t every = number(parts, "every") * 1000, from = number(parts, "from");
    const std::int64_t fires = after.ms < from ? 0 : (after.ms - from) / every + 1;
    const bool over = parts.contains("times") && fires >= number(parts, "times");
    return over ? never : Instant{from + fires * every};
  }
  std::vector<FiredMessage> messages(const QueueConfig& row, Instant fire,
                                     const Directory& directory, ShardId own) const override {
    const std::string queue = parts_of(row).at("queue");
    FiredMessage message;
    bool any = queue == "*";
    directory.for_each([&](const ConfigPtr& config) {
      const std::string name = QueueName{config->account, config->name}.text();
      any |= config->is_queue() && queue == name;
      if (config->is_queue() && config->owner == own && (queue == "*" || queue == name))
        message.targets.push_back({.queue = config->id});
    });
    message.body = std::to_string(fire.ms) + ' ' + row.name;
    if (message.targets.empty() && (any || own != control_shard)) return {};
    return {message};
  }

 private:
  using Parts = std::map<std::string, std::string>;
  static Parts parts_of(const QueueConfig& row) {
    Parts parts;
    std::string_view text = row.text(Attribute::schedule);
    while (!text.empty()) {
      const std::string_view part = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), part.size() + 1));
      const std::size_t equals = std::min(part.find('='), part.size());
      parts[std::string(part.substr(0, equals))] = part.substr(std::min(part.size(), equals + 1));
    }
    return parts;
  }
  static std::int64_t number(const Parts& parts, const std::string& name) {
    return std::stoll(parts.at(name));
  }
};

}  // namespace pawl::sim
