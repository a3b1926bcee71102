// SPDX-License-Identifier: Apache-2.0
#include "tools/declared_queues.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "proto/aws/arn.h"
#include "proto/aws/message_rules.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/schedule.h"
#include "proto/sqs/queue_attributes.h"
#include "proto/text/duration.h"
#include "proto/text/json_value.h"
#include "proto/text/suggest.h"
#include "proto/text/text.h"
#include "tools/toml_text.h"

namespace pawl {
namespace {

using Names = std::vector<std::string>;

// By DeclaredKind.
constexpr std::string_view tables[] = {"queue", "topic", "subscription", "message", "schedule"};
constexpr DeclaredKind kinds[] = {DeclaredKind::queue, DeclaredKind::topic,
                                  DeclaredKind::subscription, DeclaredKind::message,
                                  DeclaredKind::schedule};

struct Keys {
  Names names;  // of members of a row
  Names required;
  Names attributes;
};

Names queue_attribute_names() {
  Names names;
  for (const Attribute attribute : settable_attributes()) names.emplace_back(name_of(attribute));
  return names;
}

const Keys& keys_for(DeclaredKind kind) {
  static const Keys queue{
      {"name", "account", "tags"},
      {"name"},
      queue_attribute_names()
  };
  static const Keys topic{
      {"name", "account", "tags"},
      {"name"},
      {"ContentBasedDeduplication", "DeliveryPolicy", "DisplayName", "FifoThroughputScope",
       "FifoTopic", "KmsMasterKeyId", "Policy", "SignatureVersion", "TracingConfig"}
  };
  static const Keys subscription{
      {"topic", "endpoint", "protocol", "account"},
      {"topic", "endpoint"},
      {"DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery",
       "RedrivePolicy"}
  };
  static const Keys message{
      {"queue", "body", "account", "attributes", "group", "dedup-id", "delay"},
      {"queue", "body"},
      {}
  };
  static const Keys schedule{
      {"name", "account", "group"},
      {"name", "expression"},
      {"expression", "zone", "queue", "topic", "input", "message-group", "start", "end", "catch-up",
       "overlap", "nonexistent", "enabled", "delete-after-completion", "dead-letter-queue",
       "description"}
  };
  switch (kind) {
    case DeclaredKind::queue:
      return queue;
    case DeclaredKind::topic:
      return topic;
    case DeclaredKind::subscription:
      return subscription;
    case DeclaredKind::schedule:
      return schedule;
    case DeclaredKind::message:
      break;
  }
  return message;
}

bool holds(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view table_of(DeclaredKind kind) { return tables[static_cast<std::size_t>(kind)]; }

// Attributes that are times of whole seconds may be written as 15m.
bool is_time(std::string_view attribute) {
  return attribute.ends_with("Seconds") || attribute.ends_with("Timeout") ||
         attribute.ends_with("Period") || attribute == "x-replay-retention";
}

std::string whole_seconds(std::string text) {
  if (decimal_number(text)) return text;
  const auto time = parse_duration(text);
  return time && time->ms % 1000 == 0 ? std::to_string(time->ms / 1000) : text;
}

// The text of a value that is no table and no array.
std::optional<std::string> simple_text(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  return std::nullopt;
}

// 2026-12-24T18:00:00Z, of a time with its offset. No value: the node is another one.
std::optional<std::string> date_text(const toml::node& node) {
  const auto date = node.value_exact<toml::date_time>();
  if (!date || !date->offset) return std::nullopt;
  std::stringstream out;
  out << *date;
  return out.str();
}

std::string json_text(const toml::table& table) {
  std::stringstream out;
  out << toml::json_formatter(table, toml::format_flags::none);
  std::string compact;
  return compact_json_object(out.str(), "", compact) ? compact : out.str();
}

class Reader {
 public:
  Reader(const std::string& path, const DeclaredDefaults& defaults)
      : path_(path), defaults_(defaults) {}

  void read(const toml::table& file);
  DeclaredRows rows;
  std::vector<std::string> faults;

 private:
  bool refuse(const std::string& where, std::string why) {
    make_printable(why);
    faults.push_back(where + ": " + why);
    return false;
  }
  std::string where(const toml::node& node) const { return location_of(path_, node.source()); }
  bool read_tables(DeclaredKind kind, const toml::node& node);
  bool read_row(DeclaredKind kind, const toml::table& table);
  bool read_key(DeclaredRow& row, std::string_view key, const toml::node& node);
  bool read_own(DeclaredRow& row, std::string_view key, const toml::node& node);
  bool read_pairs(const DeclaredRow& row, std::string_view key, const toml::node& node,
                  std::vector<DeclaredValue>& out);
  bool read_delay(DeclaredRow& row, const std::string& text, const std::string& at);
  std::string target_text(const DeclaredRow& row, std::string_view key,
                          const std::string& value) const;
  std::optional<std::string> attribute_text(const DeclaredRow& row, std::string_view key,
                                            const toml::node& node) const;
  bool check(const DeclaredRow& row);
  bool check_name(const DeclaredRow& row);
  bool check_schedule_names(const DeclaredRow& row);
  bool add(DeclaredRow row);
  void check_messages();
  std::string queue_arn(const DeclaredRow& row, std::string_view name) const {
    return arn_of(defaults_.region, row.account, name);
  }

  const std::string& path_;
  const DeclaredDefaults& defaults_;
  // Queues, topics, subscriptions and schedules by account, name and endpoint or group: their
  // position in rows.
  std::map<std::tuple<DeclaredKind, std::string, std::string, std::string>, std::size_t> known_;
  // Account and name of tables with faults.
  std::set<std::tuple<DeclaredKind, std::string, std::string>> refused_;
};

void Reader::read(const toml::table& file) {
  for (const DeclaredKind kind : kinds)
    if (const toml::node* const node = file.get(table_of(kind))) read_tables(kind, *node);
  check_messages();
}

bool Reader::read_tables(DeclaredKind kind, const toml::node& node) {
  const toml::array* const all = node.as_array();
  if (all == nullptr || !all->is_homogeneous<toml::table>()) {
    return refuse(where(node), fmt::format("{0} is a list of tables: write [[{0}]] above each.",
                                           table_of(kind)));
  }
  if (kind == DeclaredKind::message && !defaults_.messages) {
    return refuse(where(*all->get(0)),
                  "[[message]] is for tests: its messages are sent when the server starts. Start "
                  "with --dev, or remove it.");
  }
  if (kind == DeclaredKind::schedule && !defaults_.schedules) {
    return refuse(where(*all->get(0)),
                  "[[schedule]] needs the API of EventBridge Scheduler, which --strict-sqs leaves "
                  "out. Start without it, or remove this table.");
  }
  bool good = true;
  for (const toml::node& table : *all) good &= read_row(kind, *table.as_table());
  return good;
}

bool Reader::read_row(DeclaredKind kind, const toml::table& table) {
  DeclaredRow row;
  row.kind = kind;
  row.where = where(table);
  row.account = defaults_.account;
  if (kind == DeclaredKind::schedule) row.group = default_group;
  bool good = true;
  // First, because names of queues become ARNs of that account.
  if (const toml::node* const account = table.get("account"); account != nullptr)
    good = read_own(row, "account", *account);
  for (const auto& [name, node] : table)
    if (name.str() != "account") good &= read_key(row, name.str(), node);
  const Keys& keys = keys_for(kind);
  for (const std::string& key : keys.required) {
    if (table.contains(key)) continue;
    good = refuse(row.where,
                  fmt::format("this [[{0}]] has no {1}. Add {1} = \"...\".", table_of(kind), key));
  }
  if (kind == DeclaredKind::subscription && !row.endpoint.starts_with("arn:"))
    row.endpoint = queue_arn(row, row.endpoint);
  if (good && check(row)) return add(std::move(row));
  if (!row.name.empty()) refused_.insert({kind, row.account, row.name});
  return false;
}

bool Reader::read_key(DeclaredRow& row, std::string_view key, const toml::node& node) {
  const Keys& keys = keys_for(row.kind);
  if (holds(keys.names, key)) return read_own(row, key, node);
  if (!holds(keys.attributes, key)) {
    Names known = keys.names;
    known.insert(known.end(), keys.attributes.begin(), keys.attributes.end());
    const std::string meant = suggestion(key, known);
    return refuse(
        where(node),
        fmt::format("[[{}]] has no key \"{}\".{}", table_of(row.kind), key,
                    meant.empty() ? " Allowed: " + join_texts(known, ", ") + "." : meant));
  }
  const auto text = attribute_text(row, key, node);
  if (!text) {
    return refuse(where(node), fmt::format("{} must be a string, a whole number, true, false or a "
                                           "table, which becomes JSON.",
                                           key));
  }
  std::string value = row.kind == DeclaredKind::schedule ? target_text(row, key, *text)
                      : is_time(key)                     ? whole_seconds(*text)
                                                         : *text;
  row.attributes.push_back({std::string(key), std::move(value), where(node)});
  return true;
}

// A table becomes JSON. There the name of a dead-letter queue stands for the ARN of that queue.
std::optional<std::string> Reader::attribute_text(const DeclaredRow& row, std::string_view key,
                                                  const toml::node& node) const {
  const toml::table* const given = node.as_table();
  if (given == nullptr) {
    const auto date =
        row.kind == DeclaredKind::schedule ? date_text(node) : std::optional<std::string>();
    return date ? date : simple_text(node);
  }
  if (key != "RedrivePolicy") return json_text(*given);
  toml::table policy = *given;
  if (auto* const target = policy.get_as<std::string>("deadLetterTargetArn");
      target != nullptr && !target->get().starts_with("arn:"))
    *target = queue_arn(row, target->get());
  return json_text(policy);
}

// The ARN of the queue or topic that a key of a schedule names; other values stay.
std::string Reader::target_text(const DeclaredRow& row, std::string_view key,
                                const std::string& value) const {
  if (value.starts_with("arn:")) return value;
  if (key == "topic")
    return fmt::format("arn:aws:sns:{}:{}:{}", defaults_.region, row.account, value);
  return key == "queue" || key == "dead-letter-queue" ? queue_arn(row, value) : value;
}

bool Reader::read_delay(DeclaredRow& row, const std::string& text, const std::string& at) {
  constexpr std::int64_t delay_max_s = 900;
  const auto time = parse_duration(text);
  if (!time || time->ms % 1000 != 0 || time->ms > delay_max_s * 1000) {
    return refuse(at, fmt::format("delay = {}: it is no such time. Allowed: 0 to {} seconds, as 90 "
                                  "or \"15m\".",
                                  text, delay_max_s));
  }
  row.delay = time->ms / 1000;
  return true;
}

bool Reader::read_own(DeclaredRow& row, std::string_view key, const toml::node& node) {
  if (key == "tags") return read_pairs(row, key, node, row.tags);
  if (key == "attributes") return read_pairs(row, key, node, row.attributes);
  const auto text = key == "delay" ? simple_text(node) : node.value_exact<std::string>();
  if (!text || text->empty()) {
    return refuse(where(node), fmt::format("{} of a [[{}]] must be a string that is not empty.",
                                           key, table_of(row.kind)));
  }
  if (key == "delay") return read_delay(row, *text, where(node));
  if (key == "account" && !is_account_id(*text)) {
    return refuse(where(node), fmt::format("account = {}: it is no account. Allowed: 12 digits, as "
                                           "\"000000000000\".",
                                           *text));
  }
  if (key == "protocol" && *text != "sqs") {
    return refuse(where(node), fmt::format("protocol = {}: pawl delivers to queues only. Allowed: "
                                           "sqs. Remove this key, or write \"sqs\".",
                                           *text));
  }
  std::string unused;
  std::string& member = key == "account"    ? row.account
                        : key == "endpoint" ? row.endpoint
                        : key == "body"     ? row.body
                        : key == "group"    ? row.group
                        : key == "dedup-id" ? row.dedup_id
                        : key == "protocol" ? unused
                                            : row.name;
  member = *text;
  return true;
}

bool Reader::read_pairs(const DeclaredRow& row, std::string_view key, const toml::node& node,
                        std::vector<DeclaredValue>& out) {
  const toml::table* const table = node.as_table();
  if (table == nullptr) {
    return refuse(where(node), fmt::format("{0} of a [[{1}]] is a table: write {0} = {{ colour = "
                                           "\"red\" }}.",
                                           key, table_of(row.kind)));
  }
  for (const auto& [name, value] : *table) {
    const auto text = simple_text(value);
    if (!text) {
      return refuse(where(value),
                    fmt::format("{} in {} must be a string or a whole number.", name.str(), key));
    }
    out.push_back({std::string(name.str()), *text, where(value)});
  }
  return true;
}

bool Reader::check_schedule_names(const DeclaredRow& row) {
  for (const std::string* const name : {&row.name, &row.group}) {
    std::string unused;
    if (!check_api_text(*name, "name", api_name_rule, unused))
      return refuse(row.where,
                    fmt::format("\"{}\" is no name of a {}. Allowed: 1 to {} letters, digits, "
                                "hyphens, underscores and dots.",
                                *name, name == &row.name ? "schedule" : "group of schedules",
                                api_name_rule.max));
  }
  return true;
}

bool Reader::check_name(const DeclaredRow& row) {
  if (row.kind == DeclaredKind::schedule) return check_schedule_names(row);
  const bool of_queue = row.kind == DeclaredKind::queue || row.kind == DeclaredKind::message;
  const std::size_t most = of_queue ? queue_name_max : topic_name_max;
  if (good_resource_name(row.name, most)) return true;
  return refuse(row.where,
                fmt::format("\"{}\" is no name of a {}. Allowed: letters, digits, hyphens "
                            "and underscores, at most {}; .fifo at the end for FIFO.",
                            row.name, of_queue ? "queue" : "topic", most));
}

bool Reader::check(const DeclaredRow& row) {
  if (!check_name(row)) return false;
  if (row.kind != DeclaredKind::message) return true;
  if (row.is_fifo() && row.group.empty()) {
    return refuse(row.where, fmt::format("this [[message]] for the FIFO queue {} has no group. Add "
                                         "group = \"...\".",
                                         row.name));
  }
  if (row.is_fifo() && row.delay >= 0) {
    return refuse(row.where,
                  fmt::format("delay = {}: messages of the FIFO queue {} have no delay of "
                              "their own. Remove the key, or set DelaySeconds of the "
                              "queue.",
                              row.delay, row.name));
  }
  if (row.is_fifo() || row.dedup_id.empty()) return true;
  return refuse(row.where, fmt::format("dedup-id = {}: only messages of FIFO queues have one, and "
                                       "{} is a standard queue. Remove the key.",
                                       row.dedup_id, row.name));
}

// The first value of `one` that `other` does not have; null: there is none.
const DeclaredValue* differing(const std::vector<DeclaredValue>& one,
                               const std::vector<DeclaredValue>& other) {
  for (const DeclaredValue& value : one) {
    const auto found = std::ranges::find(other, value.key, &DeclaredValue::key);
    if (found == other.end() || found->value != value.value) return &value;
  }
  return nullptr;
}

bool Reader::add(DeclaredRow row) {
  CHECK(!row.where.empty() && !row.name.empty(), "a row without its place or name");
  if (row.kind == DeclaredKind::message) {
    rows.push_back(std::move(row));
    return true;
  }
  const std::string& more = row.kind == DeclaredKind::schedule ? row.group : row.endpoint;
  const auto [known, is_new] =
      known_.try_emplace({row.kind, row.account, row.name, more}, rows.size());
  if (is_new) {
    rows.push_back(std::move(row));
    return true;
  }
  const DeclaredRow* const twin = &rows[known->second];
  const DeclaredValue* value = nullptr;
  for (const DeclaredValue* const one :
       {differing(row.attributes, twin->attributes), differing(row.tags, twin->tags),
        differing(twin->attributes, row.attributes), differing(twin->tags, row.tags)}) {
    if (value == nullptr) value = one;
  }
  if (value == nullptr) return true;
  return refuse(row.where,
                fmt::format("{} is declared at {} too, and {} = {} at {} is not the same "
                            "in both. Keep one of the two tables.",
                            describe(row), twin->where, value->key, value->value, value->where));
}

// A message is sent when its queue is made: the queue must be declared.
void Reader::check_messages() {
  for (const DeclaredRow& row : rows) {
    if (row.kind != DeclaredKind::message) continue;
    if (known_.contains({DeclaredKind::queue, row.account, row.name, {}})) continue;
    if (refused_.contains({DeclaredKind::queue, row.account, row.name})) continue;
    Names queues;
    for (const DeclaredRow& one : rows)
      if (one.kind == DeclaredKind::queue && one.account == row.account) queues.push_back(one.name);
    refuse(row.where, fmt::format("queue = {}: this file has no such [[queue]] of account {}, "
                                  "and a message is sent when its queue is made.{} Declare "
                                  "it, or correct the name.",
                                  row.name, row.account, suggestion(row.name, queues)));
  }
}

}  // namespace

std::span<const std::string_view> declared_tables() { return tables; }

DeclaredRead read_declared_rows(std::string_view text, const std::string& path,
                                const DeclaredDefaults& defaults) {
  CHECK(is_account_id(defaults.account), "{} is no account", defaults.account);
  const auto parsed = parse_toml(text, path);
  if (!parsed) return {{}, {parsed.error()}};
  Reader reader(path, defaults);
  reader.read(*parsed);
  return {std::move(reader.rows), std::move(reader.faults)};
}

}  // namespace pawl
