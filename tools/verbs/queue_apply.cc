// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/queue_apply.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "proto/aws/arn.h"
#include "proto/declared/declared_rows.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "tools/config/config_file.h"
#include "tools/config/configuration.h"
#include "tools/printer.h"
#include "tools/verbs/apply_values.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"
#include "tools/verbs/schedule_apply.h"
#include "tools/verbs/topic_apply.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;
using Values = std::vector<DeclaredValue>;

constexpr std::string_view redrive_policy = "RedrivePolicy", fifo_queue = "FifoQueue";
constexpr std::string_view retention_period = "MessageRetentionPeriod";

struct ApplyRequest {
  EndpointOptions endpoint;
  std::string file;
  bool dry_run = false;
  OutputOptions output;
};

// A declared queue, and what the server lacks of it.
struct PlannedQueue {
  const DeclaredRow* row = nullptr;
  std::string url;    // empty: the queue does not exist yet
  Values attributes;  // without the RedrivePolicy, which is set when all queues exist
  Values links;       // the RedrivePolicy
  Values tags;
  std::vector<std::string> changes;  // "NAME: OLD -> NEW"

  bool is_changed() const { return !changes.empty(); }
};

std::string object_of(const Values& values) {
  std::string object;
  JsonWriter json(object);
  json.begin_object();
  for (const DeclaredValue& one : values) json.member(one.key, std::string_view(one.value));
  json.end_object();
  return object;
}

// --- the plan ---

// Compares the attributes. Returns the exit code.
int plan_attributes(PlannedQueue& planned, const JsonValue& response) {
  for (const DeclaredValue& one : planned.row->attributes) {
    const std::string has = attribute_of(response, one.key);
    if (is_same_attribute(one.key, has, one.value)) continue;
    if (one.key == fifo_queue)
      return refuse_row(one.where, fmt::format("the type of {} cannot change. Choose another name.",
                                               describe(*planned.row)));
    const bool shorter =
        one.key == retention_period &&
        std::strtoll(one.value.c_str(), nullptr, 10) < std::strtoll(has.c_str(), nullptr, 10);
    if (shorter && all_messages_of(response) > 0)
      return refuse_row(
          one.where,
          fmt::format("{} = {} of {}: the queue keeps its messages for {} s and has some, which "
                      "would be deleted earlier. Receive or purge them first, or use `pawl queue "
                      "set {} --set {}={}`.",
                      one.key, one.value, describe(*planned.row), has, planned.row->name, one.key,
                      one.value));
    (one.key == redrive_policy ? planned.links : planned.attributes).push_back(one);
    planned.changes.push_back(change_text(one.key, has, one.value));
  }
  return exit_ok;
}

int plan_tags(PlannedQueue& planned, SqsClient& client) {
  CHECK(!planned.url.empty(), "the tags of no queue");
  if (planned.row->tags.empty()) return exit_ok;
  const auto response = client.call("ListQueueTags", body_with("QueueUrl", planned.url));
  if (!response) return explain_call(response.error(), planned.row->name);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  const auto tags = document ? document->member("Tags") : std::nullopt;
  for (const DeclaredValue& tag : planned.row->tags) {
    const std::string has = tags ? text_of(*tags, tag.key) : std::string();
    if (has == tag.value) continue;
    planned.tags.push_back(tag);
    planned.changes.push_back(change_text("tag " + tag.key, has, tag.value));
  }
  return exit_ok;
}

void plan_new(PlannedQueue& planned) {
  const DeclaredRow& row = *planned.row;
  for (const DeclaredValue& one : row.attributes)
    (one.key == redrive_policy ? planned.links : planned.attributes).push_back(one);
  if (row.is_fifo() && row.find(fifo_queue) == nullptr)
    planned.attributes.push_back({std::string(fifo_queue), "true", row.where});
  planned.tags = row.tags;
}

// Compares a queue with its table. Returns the exit code.
int plan_queue(PlannedQueue& planned, SqsClient& client) {
  const std::string& name = planned.row->name;
  const auto found = client.call("GetQueueUrl", body_with("QueueName", name));
  if (!found && found.error().code != "QueueDoesNotExist") return explain_call(found.error(), name);
  if (!found) {
    plan_new(planned);
    return exit_ok;
  }
  JsonDom dom;
  const auto document = dom.parse(found->body);
  planned.url = document ? text_of(*document, "QueueUrl") : std::string();
  if (planned.url.empty())
    return fail_with(exit_failure, "the response to GetQueueUrl has no QueueUrl.");
  int code = exit_ok;
  const auto response = attributes_of(client, planned.url, name, code);
  if (!response) return code;
  const auto attributes = dom.parse(*response);
  if (!attributes) return fail_with(exit_failure, "the response to GetQueueAttributes is no JSON.");
  code = plan_attributes(planned, *attributes);
  return code == exit_ok ? plan_tags(planned, client) : code;
}

// --- its calls ---

int call_for(const DeclaredRow& row, SqsClient& client, std::string_view action,
             const std::string& body) {
  const auto response = client.call(action, body);
  return response ? static_cast<int>(exit_ok) : refuse_row(row.where, response.error().text);
}

int make_queue(PlannedQueue& planned, SqsClient& client) {
  const std::string name = planned.row->name;
  const auto response = client.call(
      "CreateQueue", fmt::format(R"({{"QueueName":"{}","Attributes":{},"tags":{}}})", name,
                                 object_of(planned.attributes), object_of(planned.tags)));
  if (!response) return refuse_row(planned.row->where, response.error().text);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  planned.url = document ? text_of(*document, "QueueUrl") : std::string();
  return planned.url.empty() ? refuse_row(planned.row->where, "CreateQueue responds without a URL.")
                             : static_cast<int>(exit_ok);
}

int set_values(const PlannedQueue& planned, SqsClient& client, std::string_view action,
               std::string_view map, const Values& values) {
  if (values.empty()) return exit_ok;
  return call_for(
      *planned.row, client, action,
      fmt::format(R"({{"QueueUrl":"{}","{}":{}}})", planned.url, map, object_of(values)));
}

// Makes the queues, changes the others, and then sets the RedrivePolicies. Returns the exit code.
int carry_out(std::vector<PlannedQueue>& all, const std::vector<bool>& is_new, SqsClient& client) {
  CHECK(all.size() == is_new.size(), "{} of {} queues", is_new.size(), all.size());
  int code = exit_ok;
  for (std::size_t i = 0; i < all.size() && code == exit_ok; ++i) {
    if (is_new[i]) {
      code = make_queue(all[i], client);
      continue;
    }
    code = set_values(all[i], client, "SetQueueAttributes", "Attributes", all[i].attributes);
    if (code == exit_ok) code = set_values(all[i], client, "TagQueue", "Tags", all[i].tags);
  }
  for (std::size_t i = 0; i < all.size() && code == exit_ok; ++i)
    code = set_values(all[i], client, "SetQueueAttributes", "Attributes", all[i].links);
  return code;
}

// --- the verb ---

// The account and the region of the endpoint for the caller's key, as flags of `pawl serve`; those
// of the file count where it does not tell.
GivenValues place_of(SqsClient& scheduler) {
  const auto response = scheduler.call(sqs_client::RestAction{
      "GetScheduleGroup", "GET", fmt::format("/schedule-groups/{}", default_group)});
  JsonDom dom;
  const auto group = response ? dom.parse(response->body) : std::nullopt;
  const std::string text = group ? text_of(*group, "Arn") : std::string();
  const auto arn = parse_arn(text);
  if (!arn) return {};
  return {
      {"account", {std::string(arn->account), "the endpoint"}},
      {"region",  {std::string(arn->region), "the endpoint"} }
  };
}

// The declared tables of the file. Without a value the error was printed, with its exit code.
std::shared_ptr<const DeclaredRows> declared_of(const std::string& path, GivenValues place,
                                                int& code) {
  const auto text = read_config_file(path);
  if (!text) {
    code = fail_with(exit_usage, text.error());
    return nullptr;
  }
  const Configuration read = read_configuration(std::move(place), *text, path);
  CHECK(read.options.declared != nullptr, "{} was not read", path);
  std::string fault = read.faults.empty() ? std::string() : read.faults.front();
  for (const DeclaredRow& row : *read.options.declared) {
    if (!fault.empty()) break;
    if (row.account != read.options.account)
      fault = fmt::format(
          "{}: {} is of account {}: the calls of this verb are those of one account, {}. Let `pawl "
          "serve --config` make it.",
          row.where, describe(row), row.account, read.options.account);
  }
  if (fault.empty()) return read.options.declared;
  code = fail_with(exit_usage, fault);
  return nullptr;
}

const char* outcome_text(bool dry_run, bool is_new, bool is_changed) {
  if (is_new) return dry_run ? "to create" : "created";
  if (is_changed) return dry_run ? "to change" : "changed";
  return "unchanged";
}

// Compares the declared queues with those of the endpoint. Returns the exit code.
int plan_queues(const DeclaredRows& rows, SqsClient& client, std::vector<PlannedQueue>& all,
                std::vector<bool>& is_new) {
  for (const DeclaredRow& row : rows) {
    if (row.kind != DeclaredKind::queue) continue;
    PlannedQueue& planned = all.emplace_back();
    planned.row = &row;
    if (const int code = plan_queue(planned, client); code != exit_ok) return code;
    is_new.push_back(planned.url.empty());
  }
  return exit_ok;
}

int apply_file(const ApplyRequest& asked) {
  int code = exit_ok;
  auto client = open_endpoint(asked.endpoint, sqs_client::sqs_api);
  auto sns = open_endpoint(asked.endpoint, sqs_client::sns_api);
  auto scheduler = open_endpoint(asked.endpoint, sqs_client::scheduler_api);
  if (!client || !sns || !scheduler) return exit_usage;
  const auto rows = declared_of(asked.file, place_of(*scheduler), code);
  if (rows == nullptr) return code;
  std::vector<PlannedQueue> queues;
  std::vector<bool> is_new;
  TopicPlan topics(std::move(*sns));
  SchedulePlan schedules(std::move(*scheduler));
  code = plan_queues(*rows, *client, queues, is_new);
  if (code == exit_ok) code = topics.compare(*rows);
  if (code == exit_ok) code = schedules.compare(*rows);
  if (code == exit_ok) code = check_schedule_targets(*rows, *client, asked.endpoint);
  if (code == exit_ok && !asked.dry_run) code = carry_out(queues, is_new, *client);
  if (code == exit_ok && !asked.dry_run) code = topics.carry_out();
  if (code == exit_ok && !asked.dry_run) code = schedules.carry_out();
  if (code != exit_ok) return code;
  Printer printer(stdout, asked.output.format(), {"kind", "name", "outcome", "changes"});
  for (std::size_t i = 0; i < queues.size(); ++i)
    printer.add({
        .cells = {{"kind", "queue"},
                  {"name", queues[i].row->name},
                  {"outcome", outcome_text(asked.dry_run, is_new[i], queues[i].is_changed())},
                  {"changes", join_texts(queues[i].changes, "; ")}}
    });
  for (const PlannedTopic& one : topics.planned()) {
    const bool subscription = one.is_subscription();
    const std::string name =
        subscription ? fmt::format("{} -> {}", one.row->name, name_of_arn(one.row->endpoint))
                     : one.row->name;
    printer.add({
        .cells = {{"kind", subscription ? "subscription" : "topic"},
                  {"name", name},
                  {"outcome", outcome_text(asked.dry_run, one.is_new, !one.changes.empty())},
                  {"changes", join_texts(one.changes, "; ")}}
    });
  }
  for (const ComparedSchedule& one : schedules.planned())
    printer.add({
        .cells = {{"kind", "schedule"},
                  {"name", one.row->name},
                  {"outcome", outcome_text(asked.dry_run, one.is_new, !one.changes.empty())},
                  {"changes", join_texts(one.changes, "; ")}}
    });
  return printer.end();
}

}  // namespace

void add_queue_apply(Verb queue) {
  const auto asked = std::make_shared<ApplyRequest>();
  Verb verb = queue.add_verb(
      "apply",
      "Creates and changes the queues, topics, subscriptions and schedules that a file declares");
  verb.option("FILE,--file", asked->file,
              "A TOML file with [[queue]], [[topic]], [[subscription]] and [[schedule]] tables")
      .required();
  verb.flag("--dry-run", asked->dry_run, "Say what would be done, and change nothing");
  add_endpoint(verb, asked->endpoint);
  add_output(verb, asked->output, "{kind, name, outcome, changes}");
  verb.footer("What the file does not name stays: nothing is deleted.");
  verb.on_given([asked] { return apply_file(*asked); });
}

}  // namespace pawl
