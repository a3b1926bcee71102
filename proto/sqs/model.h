// SPDX-License-Identifier: Apache-2.0
// The SQS API as tables: its actions and their members, with the names in both protocols.
//
// An action is written once, over SqsInput (input.h), as the functions of its row, which is in
// actions.cc. From these tables the readers of JSON and Query fill the input, and the response
// takes its name.
//
// Owner:  constants.
// Source: SQS API Reference 2012-11-05; botocore's service model for the names in Query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

struct SqsState;
class SqsResult;
enum class CallStep : std::uint8_t;

enum class SqsMember : std::uint8_t {
  // scalars of a message or batch entry
  id,
  body,
  delay_seconds,
  deduplication_id,
  group_id,
  receipt_handle,
  visibility_timeout,
  // scalars of a call
  queue_url,
  queue_name,
  queue_owner,
  queue_name_prefix,
  max_results,
  next_token,
  max_messages,
  wait_seconds,
  attempt_id,
  label,
  source_arn,
  destination_arn,
  move_rate,
  task_handle,
  // lists of texts
  attribute_names,
  system_attribute_names,
  message_attribute_names,
  tag_keys,
  account_ids,
  action_names,
  // maps from text to text
  queue_attributes,
  tags,      // CreateQueue
  new_tags,  // TagQueue: the same under another name
  // maps from name to value with type, of a message or batch entry
  message_attributes,
  system_attributes,
  // the entries of a batch
  entries,
};
inline constexpr std::size_t sqs_entry_scalars = 7;
inline constexpr std::size_t sqs_call_scalars = 14;

enum class SqsMemberKind : std::uint8_t { text, integer, list, map, attributes, entries };

struct SqsMemberInfo {
  std::string_view json;
  std::string_view query;
  SqsMemberKind kind;
};
const SqsMemberInfo& info(SqsMember member);

// A set of members, one bit each.
using SqsMemberSet = std::uint64_t;
constexpr SqsMemberSet bit(SqsMember member) {
  return SqsMemberSet{1} << static_cast<unsigned>(member);
}

enum class SqsAction : std::uint8_t {
  none,
  create_queue,
  get_queue_url,
  list_queues,
  delete_queue,
  purge_queue,
  get_queue_attributes,
  set_queue_attributes,
  send_message,
  send_message_batch,
  receive_message,
  delete_message,
  delete_message_batch,
  change_message_visibility,
  change_message_visibility_batch,
  list_dead_letter_source_queues,
  tag_queue,
  untag_queue,
  list_queue_tags,
  add_permission,
  remove_permission,
  start_message_move_task,
  cancel_message_move_task,
  list_message_move_tasks,
};

// The functions of an action, before and after the broker.
struct SqsHandler {
  // Validates and fills `request`. For an action on a queue, `queue` is already set.
  CallStep (*begin)(SqsState&) = nullptr;
  // Writes the members of the result. Null for an action without a result.
  void (*result)(SqsState&, SqsResult&) = nullptr;
  // Recomputes a change of tags or permissions from `found`. Null for other actions.
  CallStep (*change)(SqsState&) = nullptr;
};

struct SqsActionInfo {
  std::string_view name;
  SqsHandler handler;
  SqsMemberSet members = 0;        // of the request
  SqsMemberSet entry_members = 0;  // of each entry of a batch
  bool on_queue = false;           // acts on the queue of QueueUrl or of the request path
};
const SqsActionInfo& info(SqsAction action);
const SqsHandler& handler(SqsAction action);  // not of `none`

// The action with that name; `none` if there is no such action.
SqsAction action_named(std::string_view name);

}  // namespace pawl
