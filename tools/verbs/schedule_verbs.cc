// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/schedule_verbs.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "net/sqs_client/query_body.h"
#include "proto/aws/arn.h"
#include "proto/declared/declared_schedule.h"
#include "proto/scheduler/fired_input.h"
#include "proto/scheduler/schedule.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/timestamp.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"
#include "tools/verbs/schedule_calls.h"
#include "tools/verbs/schedule_checks.h"
#include "tools/verbs/topic_calls.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

struct ScheduleOptions {
  EndpointOptions endpoint;
  NamedSchedule named;
  // For create.
  std::string expression, zone = std::string(utc_zone);
  std::string queue, topic;  // a name or an ARN; a queue's URL too
  std::string input, message_group, description;
  std::string start, end;  // empty: none
  std::string catch_up = "last", overlap = "allow", nonexistent = "next";
  bool delete_after_completion = false, paused = false, replace = false;
  // For ls.
  std::string list_group, prefix;
  bool names = false;
  OutputOptions output;
};

// --- create ---

std::optional<std::string> target_arn(const ScheduleOptions& asked, int& code) {
  const bool is_queue = asked.topic.empty();
  const std::string& given = is_queue ? asked.queue : asked.topic;
  if (given.starts_with("arn:")) return given;
  auto client = open_endpoint(asked.endpoint, is_queue ? sqs_client::sqs_api : sqs_client::sns_api);
  code = exit_usage;  // printed by open_endpoint
  if (!client) return std::nullopt;
  return is_queue ? arn_of_queue(*client, given, code) : arn_of_topic(*client, given, code);
}

std::optional<Instant> given_time(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto time = parse_timestamp(text);
  CHECK(time, "check_schedule_time() accepts \"{}\"", text);
  return time;
}

Schedule schedule_of(const ScheduleOptions& asked, std::string arn) {
  Schedule made;
  made.description = asked.description;
  made.timing.expression = asked.expression;
  made.timing.zone = asked.zone;
  made.timing.start = given_time(asked.start);
  made.timing.end = given_time(asked.end);
  made.timing.nonexistent =
      asked.nonexistent == "skip" ? NonexistentTime::skip : NonexistentTime::next;
  made.timing.enabled = !asked.paused;
  made.ends_deleted = asked.delete_after_completion;
  made.catch_up = asked.catch_up == "none"  ? CatchUp::none
                  : asked.catch_up == "all" ? CatchUp::all
                                            : CatchUp::last;
  made.skips_overlap = asked.overlap == "skip";
  made.target.arn = std::move(arn);
  made.target.role = declared_role;
  made.target.input = asked.input;
  made.target.group = asked.message_group;
  return made;
}

// Faults that need no server, with the flag that mends them; empty: none.
std::string fault_of(const ScheduleOptions& asked) {
  if (asked.queue.empty() == asked.topic.empty())
    return "a schedule sends to a queue or to a topic: give one of --queue QUEUE and --topic "
           "TOPIC.";
  if (asked.queue.ends_with(".fifo") && asked.message_group.empty())
    return fmt::format("\"{}\" is a FIFO queue. Add --message-group GROUP, the MessageGroupId.",
                       asked.queue);
  if (!asked.topic.empty() && !asked.message_group.empty())
    return "--message-group is for queues. Remove it, or name a queue with --queue.";
  return {};
}

int create_schedule(const ScheduleOptions& asked, SqsClient& client) {
  if (const std::string fault = fault_of(asked); !fault.empty())
    return fail_with(exit_usage, fault);
  int code = exit_ok;
  auto arn = target_arn(asked, code);
  if (!arn) return code;
  const Schedule schedule = schedule_of(asked, std::move(*arn));
  auto response = create_in_group(client, asked.named, schedule);
  const bool exists = !response && response.error().code == "ConflictException";
  if (exists && !asked.replace)
    return fail_with(exit_failure,
                     fmt::format("the group \"{}\" has a schedule \"{}\" already. Add --replace to "
                                 "give it this definition.",
                                 asked.named.group, asked.named.name));
  if (exists)
    response = call_schedule(client, "UpdateSchedule", asked.named,
                             schedule_request(asked.named.group, schedule));
  if (!response) return explain_schedule_call(response.error(), asked.named);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  fmt::print("{}\n", document ? text_of(*document, "ScheduleArn") : std::string());
  return exit_ok;
}

// --- ls ---

std::string target_text(std::string_view arn) {
  const auto parts = parse_arn(arn);
  if (!parts) return std::string(arn);
  return fmt::format("{} {}", parts->service == "sns" ? "topic" : "queue", parts->name);
}

// Without the part of a flexible window, which depends on the server.
Instant coming_fire(const StoredSchedule& stored) {
  ScheduleTiming timing = stored.schedule.timing;
  timing.flexible = false;
  if (!timing.enabled) return never;
  return next_fire_of(timing, stored.schedule.created, QueueId::none, Instant{wall_clock_ms()});
}

void add_cells(Printer::Row& row, const StoredSchedule& stored) {
  const Instant fire = coming_fire(stored);
  const bool ended = stored.schedule.timing.enabled && fire == never;
  for (auto& [name, value] : schedule_members(stored.schedule)) {
    Printer::Cell cell{name, value};
    if (name == "target") cell.text = target_text(value);
    if (name == "delete_after_completion") cell.value = stored.schedule.ends_deleted;
    if (name == "state" && ended) cell.value = "ended";
    row.cells.push_back(std::move(cell));
    if (name == "state")
      row.cells.push_back({"next", fire == never ? std::string() : timestamp_text(fire)});
  }
  row.cells.push_back({"arn", stored.arn});
}

int list_schedules(const ScheduleOptions& asked, SqsClient& client) {
  Printer printer(stdout, asked.output.format(),
                  {"name", "group", "expression", "zone", "state", "next", "target"});
  int failed = exit_ok;
  const auto add = [&](const NamedSchedule& named) {
    Printer::Row row{
        .cells = {{"name", named.name}, {"group", named.group}}
    };
    if (!asked.names) {
      const auto response = call_schedule(client, "GetSchedule", named);
      if (!response && response.error().code == "ResourceNotFoundException") return true;
      if (!response) failed = explain_schedule_call(response.error(), named);
      const auto stored = response ? read_stored(response->body, failed) : std::nullopt;
      if (!stored) return false;
      add_cells(row, *stored);
    }
    printer.add(row);
    return true;
  };
  const int code = for_each_schedule(client, asked.list_group, asked.prefix, add);
  if (failed != exit_ok) return failed;
  return code == exit_ok ? printer.end() : code;
}

// --- pause, resume, rm ---

int enable(const ScheduleOptions& asked, SqsClient& client, bool enabled) {
  int code = exit_ok;
  auto stored = stored_schedule(client, asked.named, code);
  if (!stored || stored->schedule.timing.enabled == enabled) return code;
  stored->schedule.timing.enabled = enabled;
  const auto response = call_schedule(client, "UpdateSchedule", asked.named,
                                      schedule_request(asked.named.group, stored->schedule));
  return response ? code : explain_schedule_call(response.error(), asked.named);
}

int pause_schedule(const ScheduleOptions& asked, SqsClient& client) {
  return enable(asked, client, false);
}

int resume_schedule(const ScheduleOptions& asked, SqsClient& client) {
  return enable(asked, client, true);
}

int remove_schedule(const ScheduleOptions& asked, SqsClient& client) {
  const auto response = call_schedule(client, "DeleteSchedule", asked.named);
  return response ? static_cast<int>(exit_ok)
                  : explain_schedule_call(response.error(), asked.named);
}

// --- run-now ---

std::string random_id() {
  std::random_device random;
  const auto half = [&random] { return std::uint64_t{random()} << 32 | random(); };
  const auto text = uuid_text({half(), half()});
  return {text.data(), text.size()};
}

int send_to_queue(const ScheduleOptions& asked, const ScheduleTarget& target,
                  const FireContext& fire, const std::string& queue) {
  return with_queue(asked.endpoint, queue, [&](SqsClient& client, const std::string& url) -> int {
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.member("QueueUrl", std::string_view(url));
    json.member("MessageBody", std::string_view(fired_input(target.input, fire)));
    if (!target.group.empty()) json.member("MessageGroupId", std::string_view(target.group));
    if (queue.ends_with(".fifo")) json.member("MessageDeduplicationId", std::string_view(fire.id));
    json.end_object();
    const auto response = client.call("SendMessage", body);
    if (!response) return explain_call(response.error(), queue);
    JsonDom dom;
    const auto document = dom.parse(response->body);
    fmt::print("{}\n", document ? text_of(*document, "MessageId") : std::string());
    return exit_ok;
  });
}

int publish_to_topic(const ScheduleOptions& asked, const ScheduleTarget& target,
                     const FireContext& fire) {
  auto client = open_endpoint(asked.endpoint, sqs_client::sns_api);
  if (!client) return exit_usage;
  sqs_client::QueryBody body;
  body.add("TopicArn", target.arn);
  body.add("Message", fired_input(target.input, fire));
  int code = exit_ok;
  const auto response = call_sns(*client, "Publish", body, name_of_arn(target.arn), code);
  if (!response) return code;
  fmt::print("{}\n", response->text_at("PublishResult/MessageId"));
  return exit_ok;
}

int run_now(const ScheduleOptions& asked, SqsClient& client) {
  int code = exit_ok;
  const auto stored = stored_schedule(client, asked.named, code);
  if (!stored) return code;
  const ScheduleTarget& target = stored->schedule.target;
  const auto arn = parse_arn(stored->arn), to = parse_arn(target.arn);
  if (!arn || !to || (to->service != "sqs" && to->service != "sns"))
    return fail_with(exit_failure,
                     fmt::format("the target {} of schedule \"{}\" is no queue and no topic.",
                                 target.arn, asked.named.name));
  const FireContext fire{.account = std::string(arn->account),
                         .region = std::string(arn->region),
                         .arn = stored->arn,
                         .time = timestamp_text(Instant{wall_clock_ms() / 1000 * 1000}),
                         .id = random_id()};
  return to->service == "sns" ? publish_to_topic(asked, target, fire)
                              : send_to_queue(asked, target, fire, std::string(to->name));
}

// --- the command line ---

using ScheduleFunction = int (*)(const ScheduleOptions&, SqsClient&);
using ScheduleAsked = std::shared_ptr<ScheduleOptions>;

Verb add_one(Verb schedule, const ScheduleAsked& asked, const char* name, const char* help,
             ScheduleFunction run) {
  Verb verb = schedule.add_verb(name, help);
  run_at_endpoint(verb, asked, sqs_client::scheduler_api, run);
  return verb;
}

void add_schedule_name(Verb verb, const ScheduleAsked& asked) {
  verb.option("NAME,--name", asked->named.name, "Name of the schedule")
      .required()
      .check(check_schedule_name);
  verb.option("--group", asked->named.group, "Group of the schedule")
      .value_name("GROUP")
      .check(check_schedule_name)
      .show_default();
}

void add_timing(Verb verb, const ScheduleAsked& asked) {
  verb.option("EXPRESSION,--expression", asked->expression,
              "at(2026-12-01T09:00:00), rate(5 minutes) or cron(0 9 ? * MON-FRI *)")
      .required()
      .check(check_expression);
  verb.option("--zone", asked->zone, "Time zone of the expression, such as Europe/Berlin")
      .value_name("ZONE")
      .check(check_zone)
      .show_default();
  verb.option("--start", asked->start,
              "No fire before this time, 2026-12-24T18:00:00Z; a rate counts from it")
      .value_name("TIME")
      .check(check_schedule_time);
  verb.option("--end", asked->end, "No fire after this time")
      .value_name("TIME")
      .check(check_schedule_time);
  verb.option("--catch-up", asked->catch_up,
              "Fires that the server missed while it was down: none takes place later, the last "
              "one, or all")
      .value_name("none|last|all")
      .check(check_catch_up)
      .show_default();
  verb.option("--overlap", asked->overlap,
              "While the message of the fire before is in the queue: send another (allow), or none "
              "(skip)")
      .value_name("allow|skip")
      .check(check_overlap)
      .show_default();
  verb.option("--nonexistent", asked->nonexistent,
              "A local time that the clocks leave out fires at the end of the gap (next), or not "
              "at all (skip), as at AWS")
      .value_name("next|skip")
      .check(check_nonexistent)
      .show_default();
}

void add_create(Verb schedule, const ScheduleAsked& asked) {
  Verb verb = add_one(schedule, asked, "create",
                      "Creates a schedule, which sends a message at each of its times; prints its "
                      "ARN",
                      create_schedule);
  add_schedule_name(verb, asked);
  add_timing(verb, asked);
  verb.option("--queue", asked->queue,
              "Name, URL or ARN of the queue; one named by its ARN need not exist yet")
      .value_name("QUEUE");
  verb.option("--topic", asked->topic, "Name or ARN of a topic, instead of a queue")
      .value_name("TOPIC");
  verb.option("--input", asked->input,
              "The message (default: JSON that names the schedule and the time)")
      .value_name("TEXT");
  verb.option("--message-group", asked->message_group, "MessageGroupId; a FIFO queue needs one")
      .value_name("GROUP");
  verb.option("--description", asked->description, "A text for people").value_name("TEXT");
  verb.flag("--delete-after-completion", asked->delete_after_completion,
            "Delete the schedule after its last fire");
  verb.flag("--paused", asked->paused, "Create it paused");
  verb.flag("--replace", asked->replace, "Give an existing schedule this definition");
  verb.footer("A group that does not exist is created.");
}

}  // namespace

void add_schedule_verbs(Verb schedule) {
  const auto asked = std::make_shared<ScheduleOptions>();
  add_create(schedule, asked);
  Verb listed =
      add_one(schedule, asked, "ls", "Lists schedules with their next fires", list_schedules);
  listed.option("--group", asked->list_group, "Only schedules of this group")
      .value_name("GROUP")
      .check(check_schedule_name);
  listed.option("--prefix", asked->prefix, "Only names that begin so")
      .value_name("TEXT")
      .check(check_schedule_name);
  listed.flag("--names", asked->names, "Names and groups alone: one call for 100 schedules");
  add_output(listed, asked->output,
             "{name, group, expression, zone, state, next, target, input, message_group, "
             "dead_letter_queue, start, end, catch_up, overlap, nonexistent, "
             "delete_after_completion, description, arn}");
  const std::pair<std::pair<const char*, const char*>, ScheduleFunction> others[] = {
      {{"pause", "Pauses a schedule: it does not fire until it is resumed"},           pause_schedule },
      {{"resume", "Resumes a paused schedule at its next fire"},                       resume_schedule},
      {{"run-now", "Sends the message of a schedule now; its fires stay as they are"}, run_now        },
      {{"rm", "Deletes a schedule; its messages stay"},                                remove_schedule},
  };
  for (const auto& [texts, run] : others)
    add_schedule_name(add_one(schedule, asked, texts.first, texts.second, run), asked);
}

}  // namespace pawl
