// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "proto/aws/arn.h"
#include "proto/sqs/access.h"
#include "proto/sqs/actions.h"
#include "proto/text/base64.h"
#include "proto/text/json.h"
#include "proto/text/json_value.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;
using Status = MoveTask::Status;

void refuse_unknown(SqsState& s, std::string_view parameter) {
  s.refusal.because(F::resource_not_found,
                    "The resource that you specified for the {} parameter doesn't exist.",
                    parameter);
}

// Parses the ARN in `member`, whose name is `parameter`.
std::optional<SqsArn> read_arn(SqsState& s, M member, std::string_view parameter) {
  const SqsScalar& given = s.input[member];
  if (!given.present) {
    s.refusal.because(F::missing_parameter, "The request must contain the parameter {}.",
                      parameter);
    return std::nullopt;
  }
  auto arn = parse_arn(given.text);
  if (arn && kind_of(arn->account) != ConfigKind::queue) arn.reset();
  if (!arn) {
    s.refusal.because(F::invalid_parameter_value,
                      "You must use this format to specify the {}: "
                      "arn:<partition>:<service>:<region>:<account-id>:<resource-id>",
                      parameter);
  }
  return arn;
}

// The queue with that ARN, if the caller may perform `action` on it. Null: the call is refused.
const ConfigPtr* find_allowed(SqsState& s, const SqsArn& arn, SqsAction action,
                              std::string_view parameter) {
  const ConfigPtr* queue = find_queue(*s.directory, arn);
  if (queue != nullptr && may(s, action, **queue)) return queue;
  // A caller without access must not learn whether another account has that queue.
  if (s.config->keys != nullptr && arn.account != s.account) {
    refuse(s.refusal, Errc::unauthorized, {.queue = shown(arn.name)});
  } else {
    refuse_unknown(s, parameter);
  }
  return nullptr;
}

// Finds the queue that messages are moved from; it becomes the queue of the call.
bool find_source(SqsState& s) {
  const auto arn = read_arn(s, M::source_arn, "SourceArn");
  if (!arn) return false;
  const ConfigPtr* source = find_allowed(s, *arn, s.action, "SourceArn");
  if (source == nullptr) return false;
  s.found = *source;
  s.use(**source);
  return true;
}

bool check_destination(SqsState& s) {
  if (!s.input[M::destination_arn].present) return true;
  const auto arn = read_arn(s, M::destination_arn, "DestinationArn");
  if (!arn) return false;
  const ConfigPtr* destination = find_allowed(s, *arn, SqsAction::send_message, "DestinationArn");
  if (destination == nullptr) return false;
  if ((*destination)->id == s.queue->id) {
    return s.refusal.because(F::invalid_parameter_value,
                             "Source queue arn and destination queue arn cannot be the same.");
  }
  if ((*destination)->is_fifo() != s.fifo) {
    return s.refusal.because(F::invalid_parameter_value,
                             "The source queue and destination queue must be of the same queue "
                             "type.");
  }
  s.request.move.destination = s.input.arena.copy(QueueName{arn->account, arn->name}.text());
  return true;
}

bool check_rate(SqsState& s) {
  const SqsScalar& rate = s.input[M::move_rate];
  if (rate.present && !rate.within(1, move_rate_max)) {
    return s.refusal.because(F::invalid_parameter_value,
                             "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: "
                             "You must enter a number that's between 1 and 500.");
  }
  s.request.move.rate = static_cast<std::uint32_t>(rate.number);
  return true;
}

// --- TaskHandle: base64 of {"taskId":"<uuid>","sourceArn":"<arn>"} ---
//
// The low half of the uuid is the task's number; the high half proves that this server made it.

constexpr std::uint64_t uuid_variant = std::uint64_t{1} << 63;

MessageId task_id(const SqsState& s, QueueId queue, std::uint32_t number) {
  constexpr Seq beyond_messages = seq_max + 1;  // so that no message has this id
  const MessageId proof = message_id(s.config->secret, queue, beyond_messages + number);
  return {proof.high, uuid_variant | number};
}

std::string task_handle(const SqsState& s, const QueueConfig& source, std::uint32_t number) {
  const std::array<char, 36> uuid = uuid_text(task_id(s, source.id, number));
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("taskId", std::string_view(uuid.data(), uuid.size()));
  json.member("sourceArn", std::string_view(arn_of(s.config->region, source.account, source.name)));
  json.end_object();
  std::string handle;
  append_base64(handle, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return handle;
}

std::optional<MessageId> read_uuid(std::string_view text) {
  if (text.size() != uuid_text({}).size()) return std::nullopt;
  std::string hex(text);
  std::erase(hex, '-');
  MessageId id;
  if (hex.size() != 32) return std::nullopt;
  std::from_chars(hex.data(), hex.data() + 16, id.high, 16);
  std::from_chars(hex.data() + 16, hex.data() + 32, id.low, 16);
  if (!std::ranges::equal(text, uuid_text(id))) return std::nullopt;
  return id;
}

struct TaskHandle {
  MessageId id;
  std::string arn;
};

std::optional<TaskHandle> read_task_handle(std::string_view given) {
  constexpr std::size_t given_max = 1024;
  std::string text;
  if (given.size() > given_max || !decode_base64(given, text)) return std::nullopt;
  const auto members = json_members(text);
  if (!members || members->size() != 2) return std::nullopt;
  const auto value = [&](std::string_view key) {
    const auto it = std::ranges::find(*members, key, &JsonMember::key);
    return it == members->end() ? std::string() : it->text;
  };
  const auto id = read_uuid(value("taskId"));
  if (!id || !parse_arn(value("sourceArn"))) return std::nullopt;
  return TaskHandle{*id, value("sourceArn")};
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::running:
      return "RUNNING";
    case Status::completed:
      return "COMPLETED";
    case Status::cancelled:
      return "CANCELLED";
    case Status::failed:
      break;
  }
  return "FAILED";
}

// The FailureReason of a failed task.
std::string_view reason_of(Errc failure) {
  if (failure == Errc::source_unknown) return "CouldNotDetermineMessageSource";
  if (failure == Errc::message_numbers_used_up) return "MessageNumbersUsedUp";
  return info(F::queue_does_not_exist).code;
}

void write_task(const SqsState& s, const MoveTask& task, SqsResult& result) {
  constexpr std::string_view xml_name = "ListMessageMoveTasksResultEntry";
  const auto arn = [&](std::string_view account, std::string_view name) {
    return arn_of(s.config->region, account, name);
  };
  result.begin_item(xml_name);
  if (task.status == Status::running) {
    result.text("TaskHandle", task_handle(s, *s.found, task.number));
  }
  result.text("Status", name_of(task.status));
  result.text("SourceArn", arn(s.queue_account, s.queue_name));
  if (!task.destination.empty()) {
    const QueueName to = QueueName::from_text(task.destination);
    result.text("DestinationArn", arn(to.account, to.name));
  }
  if (task.rate != 0) result.number("MaxNumberOfMessagesPerSecond", task.rate);
  result.number("ApproximateNumberOfMessagesMoved", static_cast<std::int64_t>(task.moved));
  result.number("ApproximateNumberOfMessagesToMove", static_cast<std::int64_t>(task.to_move));
  if (task.status == Status::failed) result.text("FailureReason", reason_of(task.failure));
  result.number("StartedTimestamp", s.config->shift->wall(task.started).ms);
  result.end_item(xml_name);
}

}  // namespace

Next start_message_move_task(SqsState& s) {
  if (!find_source(s)) return Next::respond;
  // A move receives and deletes messages of the source, so it needs both permissions.
  if (!may(s, SqsAction::receive_message, *s.queue) ||
      !may(s, SqsAction::delete_message, *s.queue)) {
    refuse(s.refusal, Errc::unauthorized, {.queue = s.queue_name});
    return Next::respond;
  }
  if (s.directory->sources_of(s.queue_account, s.queue_name, "", 1).empty()) {
    s.refusal.because(F::invalid_parameter_value,
                      "Source queue must be configured as a Dead Letter Queue.");
    return Next::respond;
  }
  if (!check_destination(s) || !check_rate(s)) return Next::respond;
  return s.route(Op::start_move, s.queue->owner);
}

void start_message_move_task_result(SqsState& s, SqsResult& result) {
  result.text("TaskHandle", task_handle(s, *s.found, s.request.move.number));
}

Next cancel_message_move_task(SqsState& s) {
  const SqsScalar& given = s.input[M::task_handle];
  if (!given.present) {
    s.refusal.because(F::missing_parameter, "The request must contain the parameter TaskHandle.");
    return Next::respond;
  }
  const auto handle = read_task_handle(given.text);
  if (!handle) {
    s.refusal.because(F::invalid_parameter_value, "Value for parameter TaskHandle is invalid.");
    return Next::respond;
  }
  const SqsArn arn = *parse_arn(handle->arn);
  const ConfigPtr* source = find_queue(*s.directory, arn);
  if (source == nullptr && (s.config->keys == nullptr || arn.account == s.account)) {
    refuse_unknown(s, "SourceArn");
    return Next::respond;
  }
  const auto number = static_cast<std::uint32_t>(handle->id.low);
  if (source == nullptr || !may(s, s.action, **source) ||
      task_id(s, (*source)->id, number) != handle->id) {
    refuse(s.refusal, Errc::no_such_task, {});
    return Next::respond;
  }
  s.use(**source);
  s.request.move.number = number;
  return s.route(Op::cancel_move, s.queue->owner);
}

void cancel_message_move_task_result(SqsState& s, SqsResult& result) {
  result.number("ApproximateNumberOfMessagesMoved",
                static_cast<std::int64_t>(s.request.move.moved));
}

Next list_message_move_tasks(SqsState& s) {
  const SqsScalar& max = s.input[M::max_results];
  if (!find_source(s)) return Next::respond;
  if (max.present && !max.within(1, tasks_kept)) {
    s.refusal.because(F::invalid_parameter_value,
                      "Value for parameter MaxResults is invalid. Reason: MaxResults must be an "
                      "integer between 1 and {}.",
                      tasks_kept);
    return Next::respond;
  }
  return s.route(Op::list_moves, s.queue->owner);
}

void list_message_move_tasks_result(SqsState& s, SqsResult& result) {
  const SqsScalar& max = s.input[M::max_results];
  const auto& tasks = s.request.move.tasks;
  const std::size_t count =
      std::min(tasks.size(), static_cast<std::size_t>(max.present ? max.number : 1));
  if (count == 0) return;
  result.begin_list("Results");
  for (std::size_t i = 0; i < count; ++i) write_task(s, tasks[i], result);
  result.end_list();
}

}  // namespace pawl::sqs
