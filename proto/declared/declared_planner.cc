// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "proto/sqs/attribute_rules.h"
#include "proto/sqs/queue_attributes.h"
#include "proto/text/json.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using Values = DeclaredValues;

constexpr std::string_view redrive_policy_name = "RedrivePolicy", fifo_name = "FifoQueue";
constexpr std::uint32_t first_planned_id = 0xF000'0000;  // of queues that do not exist yet

std::vector<SqsInput::Pair> pairs_of(const Values& values) {
  std::vector<SqsInput::Pair> pairs;
  for (const DeclaredValue& one : values) pairs.emplace_back(one.key, one.value);
  return pairs;
}

std::string queue_url(const DeclaredRow& row) {
  return fmt::format("http://localhost/{}/{}", row.account, row.name);
}

void write_map(JsonWriter& json, std::string_view name, const Values& values) {
  if (values.empty()) return;
  json.key(name);
  json.begin_object();
  for (const DeclaredValue& one : values) json.member(one.key, one.value);
  json.end_object();
}

// The JSON of an action on the queue, with `values` as the map `name`.
std::string queue_body(const DeclaredRow& row, std::string_view name, const Values& values) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", queue_url(row));
  write_map(json, name, values);
  json.end_object();
  return body;
}

bool has_tag(const QueueConfig& config, std::string_view key) {
  return std::ranges::find(config.tags, key, &Tags::value_type::first) != config.tags.end();
}

// The values without the RedrivePolicy, which is set when all queues exist, or that alone.
Values values_of(const DeclaredRow& row, bool links) {
  Values values;
  for (const DeclaredValue& one : row.attributes)
    if ((one.key == redrive_policy_name) == links) values.push_back(one);
  return values;
}

std::string value_fault(const DeclaredRow& row, const DeclaredValue& one, std::string_view why) {
  std::string text = fmt::format("{} = {} of {}: {}", one.key, one.value, describe(row), why);
  if (const std::string allowed = allowed_values(one.key); !allowed.empty())
    text += fmt::format(" Allowed: {}.", allowed);
  if (one.key == redrive_policy_name)
    text += " Declare the dead-letter queue as [[queue]] too, or correct its name.";
  return text;
}

}  // namespace

DeclaredValues missing_tags(const DeclaredRow& row, const QueueConfig& config) {
  DeclaredValues missing;
  for (const DeclaredValue& tag : row.tags) {
    if (std::ranges::find(config.tags, std::pair(tag.key, tag.value)) == config.tags.end())
      missing.push_back(tag);
  }
  return missing;
}

DeclaredPlanner::DeclaredPlanner(const DeclaredRows& rows, const Directory& directory,
                                 const CallSettings& settings)
    : rows_(rows), there_(plan_.kept), settings_(settings), planned_ids_(first_planned_id) {
  plan_.phases.resize(phases);
  plan_.kept = directory;
  for (const DeclaredRow& row : rows) {
    if (row.kind == DeclaredKind::message) with_messages_.insert({row.account, row.name});
    if (row.kind == DeclaredKind::queue) drop_unsent(row);
  }
  plan_.planned = plan_.kept;
}

DeclaredPlan DeclaredPlanner::plan(FaultyPlan faulty) {
  bool good = every(DeclaredKind::queue, &DeclaredPlanner::plan_queue);
  good &= every(DeclaredKind::queue, &DeclaredPlanner::plan_link);
  good &= every(DeclaredKind::topic, &DeclaredPlanner::plan_topic);
  good &= every(DeclaredKind::subscription, &DeclaredPlanner::plan_subscription);
  good &= every(DeclaredKind::schedule, &DeclaredPlanner::plan_schedule);
  good &= every(DeclaredKind::message, &DeclaredPlanner::plan_message);
  CHECK(good == plan_.faults.empty(), "a plan without a fault is whole");
  if (!good) plan_.fault = plan_.faults.front();
  if (!good && faulty == FaultyPlan::is_empty) plan_.phases.clear();
  plan_.summary = summary();
  return std::move(plan_);
}

bool DeclaredPlanner::every(DeclaredKind kind, bool (DeclaredPlanner::*step)(const DeclaredRow&)) {
  bool good = true;
  for (const DeclaredRow& row : rows_)
    if (row.kind == kind) good &= (this->*step)(row);
  return good;
}

bool DeclaredPlanner::refuse(const std::string& where, std::string why) {
  CHECK(!why.empty(), "a fault has a text");
  make_printable(why);
  plan_.faults.push_back(fmt::format("{}: {}", where, why));
  return false;
}

void DeclaredPlanner::add(Phase phase, const DeclaredRow& row, std::string action, std::string body,
                          const std::string& where) {
  CHECK(phase < plan_.phases.size(), "phase {}", std::size_t{phase});
  const bool makes = action.starts_with("Create") || action == "Subscribe";
  plan_.phases[phase].push_back(
      {&row, where.empty() ? row.where : where, makes, std::move(action), std::move(body)});
}

QueueConfig DeclaredPlanner::planned_row(const std::string& account, std::string_view name) {
  QueueConfig config;
  config.id = QueueId{planned_ids_++};
  config.set_name(account, name);
  return config;
}

void DeclaredPlanner::put(QueueConfig config) {
  plan_.planned.put(std::make_shared<const QueueConfig>(std::move(config)));
}

// A queue with a fault: other rows may refer to it.
void DeclaredPlanner::put_refused(const DeclaredRow& row) {
  CHECK(!plan_.faults.empty(), "{} has no fault", describe(row));
  if (there_.find(row.account, row.name) != nullptr) return;
  QueueConfig planned = planned_row(row.account, row.name);
  if (row.is_fifo()) planned.apply({Attribute::fifo_queue, 1, {}});
  put(std::move(planned));
}

// Names the attributes that are wrong by themselves, or else the row. Attributes that lift a limit
// stand by the others.
bool DeclaredPlanner::read(const DeclaredRow& row, const Values& values, const QueueConfig* queue,
                           Changes& changes) {
  const AttributeSubject subject{.directory = plan_.planned,
                                 .account = row.account,
                                 .name = row.name,
                                 .fifo = row.is_fifo(),
                                 .queue = queue};
  Refusal refusal;
  changes.clear();
  if (read_queue_attributes(pairs_of(values), subject, changes, refusal)) return true;
  const std::size_t before = plan_.faults.size();
  Values lifting;
  for (const bool lifts : {true, false}) {
    for (const DeclaredValue& one : values) {
      if (lifts_a_limit(one.key) != lifts) continue;
      Refusal alone;
      Changes unused;
      Values read_with = lifting;
      read_with.push_back(one);
      if (!read_queue_attributes(pairs_of(read_with), subject, unused, alone))
        refuse(one.where, value_fault(row, one, alone.text));
      else if (lifts)
        lifting.push_back(one);
    }
  }
  if (plan_.faults.size() > before) return false;
  return refuse(row.where, fmt::format("{}: {}", describe(row), refusal.text));
}

void DeclaredPlanner::drop_unsent(const DeclaredRow& row) {
  CHECK(row.kind == DeclaredKind::queue, "{} has no messages", describe(row));
  const ConfigPtr* const there = plan_.kept.find(row.account, row.name);
  if (there == nullptr || !has_tag(**there, unsent_tag)) return;
  add(drop, row, "DeleteQueue", queue_body(row, "", {}));
  plan_.kept.drop((*there)->id);
}

bool DeclaredPlanner::plan_queue(const DeclaredRow& row) {
  const DeclaredValue* const type = row.find(fifo_name);
  if (type != nullptr && equals_ignoring_case(type->value, "true") != row.is_fifo()) {
    refuse(type->where,
           fmt::format("{} = {} of {}: the name decides the type of a queue. {} and remove "
                       "this key.",
                       fifo_name, type->value, describe(row),
                       row.is_fifo() ? "Choose a name without .fifo for a standard queue"
                                     : "Let the name of a FIFO queue end in .fifo"));
    put_refused(row);
    return false;
  }
  const ConfigPtr* const there = there_.find(row.account, row.name);
  Values values = values_of(row, false);
  if (there == nullptr && row.is_fifo() && type == nullptr)
    values.push_back({std::string(fifo_name), "true", row.where});
  Changes changes;
  if (!read(row, values, there == nullptr ? nullptr : there->get(), changes)) {
    put_refused(row);
    return false;
  }
  QueueConfig next = there == nullptr ? planned_row(row.account, row.name) : **there;
  for (const AttributeChange& one : changes) next.apply(one);
  put(std::move(next));
  const bool unsent = there == nullptr && with_messages_.contains({row.account, row.name});
  if (unsent) {
    add(finish, row, "UntagQueue",
        fmt::format(R"({{"QueueUrl":"{}","TagKeys":["{}"]}})", queue_url(row), unsent_tag));
  }
  if (there != nullptr) {
    plan_change(row, **there, values, changes);
    return true;
  }
  Values tags = row.tags;
  if (unsent) tags.push_back({std::string(unsent_tag), "not sent yet", row.where});
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueName", row.name);
  write_map(json, "Attributes", values);
  write_map(json, "tags", tags);
  json.end_object();
  add(make, row, "CreateQueue", std::move(body));
  return true;
}

void DeclaredPlanner::plan_change(const DeclaredRow& row, const QueueConfig& queue,
                                  const Values& values, const Changes& changes) {
  if (const Values tags = missing_tags(row, queue); !tags.empty())
    add(change, row, "TagQueue", queue_body(row, "Tags", tags));
  if (std::ranges::all_of(changes, [&](const auto& one) { return queue.has(one); })) return;
  keep_messages(row, queue, changes);
  add(change, row, "SetQueueAttributes", queue_body(row, "Attributes", values));
}

// A shorter retention deletes messages: it is refused while the queue has some.
void DeclaredPlanner::keep_messages(const DeclaredRow& row, const QueueConfig& queue,
                                    const Changes& changes) {
  for (const AttributeChange& one : changes) {
    if (one.attribute != Attribute::message_retention_period) continue;
    const std::int64_t has = queue.number(one.attribute);
    if (one.number >= has) continue;
    const DeclaredValue* const value = row.find(name_of(one.attribute));
    CHECK(value != nullptr, "a change of {} without its key", describe(row));
    plan_.must_be_empty.push_back(
        {queue.id, queue.owner,
         fmt::format("{}: {} = {} of {}: the queue keeps its messages for {} s and has some, which "
                     "would be deleted earlier. Allowed: {} or more while it has messages. Receive "
                     "or purge them first, or shorten the period with SetQueueAttributes.",
                     value->where, value->key, value->value, describe(row), has, has)});
  }
}

// Sets the RedrivePolicy when all queues are planned, so that their order in the file is free.
bool DeclaredPlanner::plan_link(const DeclaredRow& row) {
  const Values values = values_of(row, true);
  if (values.empty()) return true;
  const ConfigPtr* const there = there_.find(row.account, row.name);
  const ConfigPtr* const planned = plan_.planned.find(row.account, row.name);
  CHECK(planned != nullptr, "{} is planned first", describe(row));
  Changes changes;
  if (!read(row, values, planned->get(), changes)) return false;
  const bool same = there != nullptr && std::ranges::all_of(changes, [&](const auto& one) {
                      return (*there)->has(one);
                    });
  if (!same) {
    add(connect, row, "SetQueueAttributes", queue_body(row, "Attributes", values),
        values.front().where);
  }
  return true;
}

bool DeclaredPlanner::plan_message(const DeclaredRow& row) {
  if (there_.find(row.account, row.name) != nullptr) return true;
  CHECK(plan_.planned.find(row.account, row.name) != nullptr, "{} is not declared", row.name);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", queue_url(row));
  json.member("MessageBody", row.body);
  if (!row.group.empty()) json.member("MessageGroupId", row.group);
  if (!row.dedup_id.empty()) json.member("MessageDeduplicationId", row.dedup_id);
  if (row.delay >= 0) json.member("DelaySeconds", row.delay);
  if (!row.attributes.empty()) {
    json.key("MessageAttributes");
    json.begin_object();
    for (const DeclaredValue& one : row.attributes) {
      json.key(one.key);
      json.begin_object();
      json.member("DataType", "String");
      json.member("StringValue", one.value);
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
  add(connect, row, "SendMessage", std::move(body));
  return true;
}

std::string DeclaredPlanner::summary() const {
  const auto declared = [&](DeclaredKind kind) {
    return std::ranges::count(rows_, kind, &DeclaredRow::kind);
  };
  std::size_t made = 0, sent = 0, changed = 0;
  for (const auto& phase : plan_.phases)
    for (const DeclaredAction& one : phase)
      ++(one.makes ? made : one.row->kind == DeclaredKind::message ? sent : changed);
  const auto schedules = declared(DeclaredKind::schedule);
  return fmt::format(
      "declared queues: {}, topics: {}, subscriptions: {}{}; made: {}, changes: {}, messages sent: "
      "{}",
      declared(DeclaredKind::queue), declared(DeclaredKind::topic),
      declared(DeclaredKind::subscription),
      schedules == 0 ? std::string() : fmt::format(", schedules: {}", schedules), made, changed,
      sent);
}

DeclaredPlan plan_declared(const DeclaredRows& rows, const Directory& directory,
                           const CallSettings& settings, FaultyPlan faulty) {
  return DeclaredPlanner(rows, directory, settings).plan(faulty);
}

}  // namespace pawl
