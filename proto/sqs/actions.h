// SPDX-License-Identifier: Apache-2.0
// The actions, each in two halves: the checks before the broker, and the writer of the result.
// The table in actions.cc lists them, with their names and members.
//
// The first half returns `respond` after filling state.refusal, or when no shard is needed, and
// `route` after filling state.request. The queue has been found already.
#pragma once

#include "proto/sqs/result.h"
#include "proto/sqs/state.h"

namespace pawl::sqs {

// queues.cc
CallStep create_queue(SqsState& s);
void create_queue_result(SqsState& s, SqsResult& result);
CallStep get_queue_url(SqsState& s);
void get_queue_url_result(SqsState& s, SqsResult& result);
CallStep list_queues(SqsState& s);
void list_queues_result(SqsState& s, SqsResult& result);
CallStep delete_queue(SqsState& s);
CallStep purge_queue(SqsState& s);
CallStep get_queue_attributes(SqsState& s);
void get_queue_attributes_result(SqsState& s, SqsResult& result);
CallStep set_queue_attributes(SqsState& s);
CallStep list_dead_letter_source_queues(SqsState& s);
void list_dead_letter_source_queues_result(SqsState& s, SqsResult& result);

// tags.cc
CallStep tag_queue(SqsState& s);
CallStep untag_queue(SqsState& s);
CallStep change_tags(SqsState& s);
CallStep list_queue_tags(SqsState& s);
void list_queue_tags_result(SqsState& s, SqsResult& result);
// Adds the request's tags to `tags`; `queue` is the name in error texts.
[[nodiscard]] bool add_tags(SqsState& s, std::string_view queue, Tags& tags);

// permissions.cc
CallStep add_permission(SqsState& s);
CallStep remove_permission(SqsState& s);
CallStep change_permissions(SqsState& s);

// moves.cc
CallStep start_message_move_task(SqsState& s);
void start_message_move_task_result(SqsState& s, SqsResult& result);
CallStep cancel_message_move_task(SqsState& s);
void cancel_message_move_task_result(SqsState& s, SqsResult& result);
CallStep list_message_move_tasks(SqsState& s);
void list_message_move_tasks_result(SqsState& s, SqsResult& result);

// send.cc
CallStep send_message(SqsState& s);
void send_message_result(SqsState& s, SqsResult& result);
CallStep send_message_batch(SqsState& s);
void send_message_batch_result(SqsState& s, SqsResult& result);

// receive.cc

// Message bytes in a ReceiveMessage response; a single message may be larger. Further messages
// return to the queue as undelivered, because a response is written in one turn of the shard.
inline constexpr std::size_t receive_bytes_max = 1 << 20;
CallStep receive_message(SqsState& s);
// After the shard: returns the messages that do not fit into the response to their queue.
CallStep undeliver_rest(SqsState& s);
void receive_message_result(SqsState& s, SqsResult& result);

// receipts.cc
CallStep delete_message(SqsState& s);
CallStep delete_message_batch(SqsState& s);
// The value of x-pawl-cancel for the request, one outcome an entry; empty: no entry has an id.
std::string cancel_header(const SqsState& s);
void delete_message_batch_result(SqsState& s, SqsResult& result);
CallStep change_message_visibility(SqsState& s);
CallStep change_message_visibility_batch(SqsState& s);
void change_message_visibility_batch_result(SqsState& s, SqsResult& result);

// batch.cc: functions shared by the three batch actions.

// Checks the rules for a batch as a whole, in AWS's order, except for its size.
[[nodiscard]] bool check_batch(SqsState& s);
// Routes the batch if `any` entry passed its checks.
CallStep route_batch(SqsState& s, Op op, bool any);
// After the broker: marks the entries that the broker refused.
void settle_batch(SqsState& s);
// Writes Successful and Failed, in the order of the request. `success` adds members to a successful
// entry after its Id; null adds none.
void write_batch(SqsState& s, SqsResult& result, std::string_view xml_name,
                 void (*success)(SqsState&, const SqsEntry&, SqsResult&));

// The values that the texts of the broker's errors insert, for one entry.
ErrcSubjects subjects_of(const SqsState& s, const SqsEntryInput& entry);

}  // namespace pawl::sqs
