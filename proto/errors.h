// The errors of the broker on the wire: for each Errc the status of the binary protocol, how long a client waits before
// it tries again, the SQS error and its text. Each Errc is one row of proto/errors.cc.
//
// Units:  milliseconds.
// Owner:  constants.
// Source: the statuses are of proto/PROTOCOL.md; the SQS errors of the SQS API Reference, texts as recorded from AWS.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace pawl {

// What an answer, or an entry of a batch's answer, says. The class is the thousands.
enum class Status : std::uint16_t {
  ok = 0,
  // 1xxx: the request is wrong; the same again fails the same way.
  bad_frame = 1000,  // lengths, counts or trailing bytes that do not fit together
  unknown_op = 1001,
  bad_handle = 1002,      // a queue handle this connection was not given
  bad_text = 1003,        // a body with bytes that no SQS receiver could be shown
  bad_attributes = 1004,  // message or queue attributes that are malformed or not allowed
  bad_checksum = 1005,
  out_of_order = 1006,  // before HELLO, or HELLO twice
  no_such_queue = 1100,
  queue_exists = 1101,
  receipt_invalid = 1102,
  message_gone = 1103,
  visibility_beyond_max = 1104,
  too_large = 1105,
  not_supported = 1106,
  invalid = 1107,
  receipt_expired = 1108,
  attempt_not_retryable = 1109,
  task_running = 1110,
  no_such_task = 1111,
  task_ended = 1112,
  source_unknown = 1113,
  not_kept = 1114,
  queue_ids_used_up = 1115,
  directory_full = 1116,
  message_numbers_used_up = 1117,
  // 2xxx: later; the answer says how many milliseconds to wait.
  overloaded = 2000,
  no_memory = 2001,
  no_space = 2002,
  not_ready = 2003,
  over_in_flight = 2004,
  purge_in_progress = 2005,
  changed_meanwhile = 2006,
  queue_deleted_recently = 2007,
  // 3xxx: neither now nor later on this connection.
  io = 3000,
  corrupt = 3001,
  version = 3002,
  unauthorized = 3003,
  protocol_version = 3004,  // HELLO with another magic or major
};

enum class SqsFault : std::uint8_t {
  none,
  queue_does_not_exist,
  queue_name_exists,
  queue_deleted_recently,
  purge_queue_in_progress,
  over_limit,
  request_throttled,
  receipt_handle_is_invalid,
  invalid_message_contents,
  invalid_attribute_name,
  invalid_attribute_value,
  empty_batch_request,
  too_many_entries,
  batch_entry_ids_not_distinct,
  invalid_batch_entry_id,
  batch_request_too_long,
  unsupported_operation,
  invalid_parameter_value,
  missing_parameter,
  access_denied,
  invalid_action,
  missing_action,
  invalid_query_parameter,
  serialization,
  resource_not_found,
  missing_token,
  incomplete_signature,
  signature_does_not_match,
  request_expired,
  request_entity_too_large,
  unsupported_media_type,
  internal_failure,
};

struct ErrorRow {
  Errc code;
  Status status;           // of the same name
  std::uint32_t retry_ms;  // binary protocol: when to try again; more than 0 exactly for 2xxx
  SqsFault fault;
  std::uint32_t sqs_retry_ms;  // SQS: when to try again; 0: no use
  std::string_view
      text;  // of the SQS error, as fmt::format takes it, with the names that sqs_errors.h lists
};
const ErrorRow& row_of(Errc code);

Status status_of(Errc code);
// "no_such_queue"; "unknown" for a number that is none of ours.
std::string_view name_of(Status status);
// How long to wait before trying again; 0 outside 2xxx.
std::uint32_t retry_after_ms(Status status);

}  // namespace pawl
