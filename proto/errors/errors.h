// SPDX-License-Identifier: Apache-2.0
// The errors of the broker on the wire. For each Errc: the status of the binary protocol, the
// client's delay before a retry, the SQS error and its text. Each Errc is one row of
// proto/errors/errors.cc.
//
// Units:  milliseconds.
// Owner:  constants.
// Source: proto/PROTOCOL.md for the statuses; SQS API Reference for the SQS errors, with texts
//         recorded from AWS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"

namespace pawl {

// The status of a response or of one entry in a batch response. The thousands digit is the class.
enum class Status : std::uint16_t {
  ok = 0,
  // 1xxx: the request is wrong; an identical retry fails the same way.
  bad_frame = 1000,  // lengths, counts or trailing bytes are inconsistent
  unknown_op = 1001,
  bad_handle = 1002,      // the queue handle is unknown to this connection
  bad_text = 1003,        // a body with bytes that SQS cannot return
  bad_attributes = 1004,  // malformed or disallowed message or queue attributes
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
  message_in_flight = 1118,
  message_id_invalid = 1119,
  // 2xxx: retry later; the response contains the delay in milliseconds.
  overloaded = 2000,
  no_memory = 2001,
  no_space = 2002,
  not_ready = 2003,
  over_in_flight = 2004,
  purge_in_progress = 2005,
  changed_meanwhile = 2006,
  queue_deleted_recently = 2007,
  // 3xxx: no retry can succeed on this connection.
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
  request_entity_too_large,
  unsupported_media_type,
  message_in_flight,
  internal_failure,
};

// The reason for refusing the signature of a request, or the proof of a binary client.
enum class AuthFault : std::uint8_t {
  none,
  missing,             // no signature
  two_signatures,      // in the header and in the query, or two headers
  bad_query,           // a repeated parameter, a bad escape, too many
  bad_form,            // another algorithm; or missing, repeated or malformed parts
  bad_credential,      // not <key id>/<day>/<region>/sqs/aws4_request
  bad_date,            // X-Amz-Date missing, not a date, or not on the credential's day
  bad_expires,         // X-Amz-Expires out of its range
  bad_signed_headers,  // unordered, or a header that does not occur exactly once
  unsigned_header,     // `host` or an x-amz-* header is not signed
  expired,
  not_yet_valid,
  body_differs,  // X-Amz-Content-Sha256 is not the body's
  mismatch,      // a wrong signature, or an unknown key
};
// The times of a signature, for the texts of expired and not_yet_valid.
struct SignatureTime {
  Instant signed_at, now;
  Duration valid{};  // from signed_at; for a signature of the future: the tolerated skew
};
inline constexpr std::size_t auth_faults = static_cast<std::size_t>(AuthFault::mismatch) + 1;

struct ErrorRow {
  Errc code;
  Status status;           // of the same name
  std::uint32_t retry_ms;  // binary protocol: delay before a retry; above 0 exactly for 2xxx
  SqsFault fault;
  std::uint32_t sqs_retry_ms;  // SQS: delay before a retry; 0: a retry is useless
  std::string_view
      text;  // SQS error text: a fmt::format string with the names listed in sqs_errors.h
};
const ErrorRow& row_of(Errc code);

Status status_of(Errc code);
// "no_such_queue"; "unknown" for an undefined number.
std::string_view name_of(Status status);
std::string_view name_of(AuthFault fault);
// Delay before a retry; 0 outside 2xxx.
std::uint32_t retry_after_ms(Status status);

}  // namespace pawl
