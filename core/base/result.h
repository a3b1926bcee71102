// SPDX-License-Identifier: Apache-2.0
// Results: the return values of calls that can fail.
//
// An Errc is a fact about the broker, never a word of a protocol: proto/ alone turns each Errc into
// exactly one SQS error name and one status of the binary protocol.
//
// Errors: an Error is 16 bytes: the Errc, its errno if there is one, and a literal.
// Source: style.md of the project; SQS API Reference, "Common errors".
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

namespace pawl {

// The numbers are on disk, as the failures of tasks (wal/FORMAT.md): append only.
enum class Errc : std::uint8_t {
  ok = 0,
  // The request cannot be fulfilled.
  no_such_queue,          // no queue of that name or id, or it was deleted meanwhile
  queue_exists,           // CreateQueue with attributes that differ from the queue's
  receipt_invalid,        // not one of our receipt handles, or another queue's
  message_gone,           // a change of visibility for a deleted message
  visibility_beyond_max,  // receive time + timeouts would pass 12 h
  over_in_flight,         // the queue's limit of messages in flight is reached
  purge_in_progress,      // the second purge within 60 s
  receipt_expired,        // FIFO: the handle's visibility timeout has run out
  attempt_not_retryable,  // messages of the attempt were deleted, changed or are visible again
  changed_meanwhile,      // set_attributes: the queue's config has changed since `based_on`
  task_running,           // a second move task for the same source
  no_such_task,           // no move task of that number, or forgotten
  task_ended,             // a cancel of a move task that no longer runs
  source_unknown,         // move task: a message lacks the queue it was dead-lettered from
  not_kept,               // replay task: the queue has no x-replay-retention
  too_large,              // a message beyond a limit; the limit is named by the caller
  queue_ids_used_up,      // create: every queue id of the data directory was given out once
  directory_full,  // create, set attributes: no space for more queues, of all or of the account
  not_supported,   // a well-formed request that this version does not support
  // Try again.
  overloaded,  // a bounded table or ring is full
  no_memory,   // the budget for message bodies is used up
  no_space,    // the disk is full
  not_ready,   // starting or stopping
  // Ours or the machine's.
  io,                       // the disk failed; error.sys is the errno
  corrupt,                  // a checksum or a structure is wrong
  version,                  // written by a newer version
  invalid,                  // an argument outside its range
  unauthorized,             // the caller lacks permission
  queue_deleted_recently,   // create: the name's queue was deleted less than 60 s ago
  message_numbers_used_up,  // send, move: every message number of the queue was given out once
  message_in_flight,        // cancel, reschedule: a consumer has the message, or it is on its way
  message_id_invalid,  // cancel, reschedule: not an id of a message that was sent to this queue
};
inline constexpr std::size_t errc_count = static_cast<std::size_t>(Errc::message_id_invalid) + 1;

// The name of an Errc, for logs.
std::string_view name_of(Errc code);

struct Error {
  Errc code = Errc::ok;
  int sys = 0;            // errno, 0 if none
  const char* what = "";  // a literal: the operation that failed
};
static_assert(sizeof(Error) == 16);

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Errc code, const char* what, int sys = 0) {
  return std::unexpected(Error{code, sys, what});
}

}  // namespace pawl
