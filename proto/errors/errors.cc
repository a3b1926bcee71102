// SPDX-License-Identifier: Apache-2.0
#include "proto/errors/errors.h"

#include <array>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_name.h"

namespace pawl {
namespace {

using F = SqsFault;

// An error for which an identical retry fails the same way.
constexpr ErrorRow never(Errc code, Status status, SqsFault fault, std::string_view text) {
  return {code, status, 0, fault, 0, text};
}
constexpr ErrorRow later(Errc code, Status status, std::uint32_t retry_ms, SqsFault fault,
                         std::uint32_t sqs_retry_ms, std::string_view text) {
  return {code, status, retry_ms, fault, sqs_retry_ms, text};
}

// In the order of Errc.
constexpr ErrorRow errors[] = {
    never(Errc::ok, Status::ok, F::none, ""),
    never(Errc::no_such_queue, Status::no_such_queue, F::queue_does_not_exist,
          "The specified queue does not exist."),
    never(Errc::queue_exists, Status::queue_exists, F::queue_name_exists,
          "A queue already exists with the same name and a different value for attribute "
          "{attribute}"),
    never(Errc::receipt_invalid, Status::receipt_invalid, F::receipt_handle_is_invalid,
          "The input receipt handle \"{receipt}\" is not a valid receipt handle."),
    never(Errc::message_gone, Status::message_gone, F::invalid_parameter_value,
          "Value {receipt} for parameter ReceiptHandle is invalid. Reason: Message does not exist "
          "or is not available for visibility timeout change."),
    never(Errc::visibility_beyond_max, Status::visibility_beyond_max, F::invalid_parameter_value,
          "Value {visibility} for parameter VisibilityTimeout is invalid. Reason: Total "
          "VisibilityTimeout for the message is beyond the limit [{visibility_max} seconds]"),
    later(Errc::over_in_flight, Status::over_in_flight, 100, F::over_limit, 0,
          "Too many messages of the queue {queue} are in flight. Delete some, or wait until their "
          "visibility timeouts end."),
    later(Errc::purge_in_progress, Status::purge_in_progress, 60'000, F::purge_queue_in_progress, 0,
          "Only one PurgeQueue operation on {queue} is allowed every 60 seconds."),
    never(Errc::receipt_expired, Status::receipt_expired, F::invalid_parameter_value,
          "Value {receipt} for parameter ReceiptHandle is invalid. Reason: The receipt handle has "
          "expired."),
    never(Errc::attempt_not_retryable, Status::attempt_not_retryable, F::invalid_parameter_value,
          "Value {attempt} for parameter ReceiveRequestAttemptId is invalid. Reason: The "
          "receiveRequestAttemptId is not valid anymore since the receive call is not retryable."),
    later(Errc::changed_meanwhile, Status::changed_meanwhile, 10, F::request_throttled, 100,
          "The queue was changed by others meanwhile. Retry."),
    never(Errc::task_running, Status::task_running, F::invalid_parameter_value,
          "There is already a task running. Only one active task is allowed for a source queue arn "
          "at a given time."),
    never(Errc::no_such_task, Status::no_such_task, F::resource_not_found, "Task does not exist."),
    never(Errc::task_ended, Status::task_ended, F::invalid_parameter_value,
          "Value for parameter TaskHandle is invalid. Reason: The task is not running any more."),
    never(Errc::source_unknown, Status::source_unknown, F::invalid_parameter_value,
          "The message does not say which queue it was dead-lettered from."),
    never(Errc::not_kept, Status::not_kept, F::invalid_parameter_value,
          "Nothing that was sent to the queue is kept: its x-replay-retention is 0."),
    never(Errc::too_large, Status::too_large, F::invalid_parameter_value,
          "One or more parameters are invalid. Reason: Message must be shorter than "
          "{message_size_max} bytes."),
    never(Errc::queue_ids_used_up, Status::queue_ids_used_up, F::unsupported_operation,
          "All {queue_ids_max} queue ids of this data directory were used: no more queues can be "
          "created in it. Move to a new data directory."),
    never(
        Errc::directory_full, Status::directory_full, F::over_limit,
        "The directory of queues is full. Limits: {queues_max} queues, topics and schedules, "
        "those of one account up to its own limit (--max-queues-per-account), and {directory_mib} "
        "MiB "
        "of their names, attributes, tags, subscriptions and definitions. Delete some that are not "
        "used."),
    never(Errc::not_supported, Status::not_supported, F::unsupported_operation,
          "This version of pawl does not do this."),
    later(Errc::overloaded, Status::overloaded, 10, F::request_throttled, 200,
          "A table of the broker is full. Send fewer requests at a time, and retry."),
    later(Errc::no_memory, Status::no_memory, 100, F::request_throttled, 1000,
          "The memory for message bodies is used up. Receive and delete messages, or give the "
          "broker more memory, and retry."),
    later(Errc::no_space, Status::no_space, 1000, F::request_throttled, 5000,
          "The broker's disk is full. Receive and delete messages, or free space on the disk, and "
          "retry."),
    later(Errc::not_ready, Status::not_ready, 250, F::request_throttled, 1000,
          "The broker is starting or stopping. Retry in a moment."),
    never(Errc::io, Status::io, F::internal_failure,
          "The broker's disk failed; its log says more."),
    never(Errc::corrupt, Status::corrupt, F::internal_failure,
          "Stored data is damaged; the broker's log says more."),
    never(Errc::version, Status::version, F::internal_failure,
          "Stored data was written by a newer version of pawl."),
    never(Errc::invalid, Status::invalid, F::invalid_parameter_value,
          "One or more parameters are invalid."),
    never(Errc::unauthorized, Status::unauthorized, F::access_denied,
          "Access to the resource {queue} is denied."),
    later(Errc::queue_deleted_recently, Status::queue_deleted_recently, 60'000,
          F::queue_deleted_recently, 0,
          "You must wait 60 seconds after deleting a queue before you can create another with the "
          "same name."),
    never(Errc::message_numbers_used_up, Status::message_numbers_used_up, F::unsupported_operation,
          "All {seq_newest_max} message numbers of the queue {queue} were used: it takes no more "
          "messages. Receive what is left in it, and send to a new queue."),
    never(Errc::message_in_flight, Status::message_in_flight, F::message_in_flight,
          "The message {receipt} is in flight, or on its way to another queue: a consumer may have "
          "begun with it. Try again later{in_flight_advice}."),
    never(
        Errc::message_id_invalid, Status::message_id_invalid, F::receipt_handle_is_invalid,
        "{receipt} does not name a message that was sent to the queue {queue}. A dead letter keeps "
        "the MessageId of its first queue, and has no id here; a redrive gives it a new one."),
};
static_assert(std::size(errors) == errc_count);
template <std::size_t i>
constexpr bool in_its_place =
    errors[i].code == static_cast<Errc>(i) &&
    enum_name<errors[i].status>() == enum_name<errors[i].code>() &&
    (errors[i].retry_ms > 0) == (static_cast<int>(errors[i].status) / 1000 == 2);
static_assert([]<std::size_t... i>(std::index_sequence<i...>) {
  return (in_its_place<i> && ...);
}(std::make_index_sequence<errc_count>()));

// Statuses that only the protocol uses: no Errc maps to them.
struct StatusName {
  Status status;
  std::string_view name;
};
template <Status... statuses>
constexpr std::array<StatusName, sizeof...(statuses)> named{
    StatusName(statuses, enum_name<statuses>())...};
constexpr auto of_protocol = named<Status::bad_frame, Status::unknown_op, Status::bad_handle,
                                   Status::bad_text, Status::bad_attributes, Status::bad_checksum,
                                   Status::out_of_order, Status::protocol_version>;

const ErrorRow* find(Status status) {
  for (const ErrorRow& row : errors)
    if (row.status == status) return &row;
  return nullptr;
}

}  // namespace

const ErrorRow& row_of(Errc code) {
  const auto index = static_cast<std::size_t>(code);
  CHECK(index < std::size(errors), "Errc {}", index);
  return errors[index];
}

Status status_of(Errc code) { return row_of(code).status; }

std::string_view name_of(Status status) {
  if (const ErrorRow* const row = find(status)) return name_of(row->code);
  for (const StatusName& known : of_protocol)
    if (known.status == status) return known.name;
  return "unknown";
}

std::uint32_t retry_after_ms(Status status) {
  const ErrorRow* const row = find(status);
  return row == nullptr ? 0 : row->retry_ms;
}

std::string_view name_of(AuthFault fault) {
  static constexpr std::string_view names[] = {
      "none",           "missing",       "two_signatures", "bad_query",          "bad_form",
      "bad_credential", "bad_date",      "bad_expires",    "bad_signed_headers", "unsigned_header",
      "expired",        "not_yet_valid", "body_differs",   "mismatch",
  };
  static_assert(std::size(names) == auth_faults);
  const auto index = static_cast<std::size_t>(fault);
  CHECK(index < std::size(names), "AuthFault {}", index);
  return names[index];
}

}  // namespace pawl
