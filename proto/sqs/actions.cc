// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/actions.h"

#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_name.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using M = SqsMember;

constexpr SqsMemberSet set_of(auto... m) { return (SqsMemberSet{0} | ... | bit(m)); }

constexpr SqsMemberSet queue_members = set_of(M::queue_url);
constexpr SqsMemberSet message_members =
    set_of(M::body, M::delay_seconds, M::deduplication_id, M::group_id, M::message_attributes,
           M::system_attributes);
constexpr SqsMemberSet batch_members = queue_members | set_of(M::entries);
constexpr SqsMemberSet deletion_members = set_of(M::receipt_handle);
constexpr SqsMemberSet change_members = deletion_members | set_of(M::visibility_timeout);
constexpr SqsMemberSet id_member = set_of(M::id);
constexpr SqsMemberSet page_members = set_of(M::max_results, M::next_token);

constexpr SqsActionInfo queue_action(std::string_view name, const SqsHandler& functions,
                                     SqsMemberSet with, SqsMemberSet entry = 0) {
  return {name, functions, queue_members | with, entry, true};
}
constexpr SqsActionInfo account_action(std::string_view name, const SqsHandler& functions,
                                       SqsMemberSet with) {
  return {name, functions, with, 0, false};
}

using namespace sqs;  // the functions of the actions
// The order is that of SqsAction.
constexpr SqsActionInfo actions[] = {
    {},
    account_action("CreateQueue", {create_queue, create_queue_result},
                   set_of(M::queue_name, M::queue_attributes, M::tags)),
    account_action("GetQueueUrl", {get_queue_url, get_queue_url_result},
                   set_of(M::queue_name, M::queue_owner)),
    account_action("ListQueues", {list_queues, list_queues_result},
                   page_members | set_of(M::queue_name_prefix)),
    queue_action("DeleteQueue", {delete_queue}, 0),
    queue_action("PurgeQueue", {purge_queue}, 0),
    queue_action("GetQueueAttributes", {get_queue_attributes, get_queue_attributes_result},
                 set_of(M::attribute_names)),
    queue_action("SetQueueAttributes", {set_queue_attributes}, set_of(M::queue_attributes)),
    queue_action("SendMessage", {send_message, send_message_result}, message_members),
    queue_action("SendMessageBatch", {send_message_batch, send_message_batch_result}, batch_members,
                 id_member | message_members),
    queue_action("ReceiveMessage", {receive_message, receive_message_result},
                 set_of(M::attribute_names, M::system_attribute_names, M::message_attribute_names,
                        M::max_messages, M::visibility_timeout, M::wait_seconds, M::attempt_id)),
    queue_action("DeleteMessage", {delete_message}, deletion_members),
    queue_action("DeleteMessageBatch", {delete_message_batch, delete_message_batch_result},
                 batch_members, id_member | deletion_members),
    queue_action("ChangeMessageVisibility", {change_message_visibility}, change_members),
    queue_action("ChangeMessageVisibilityBatch",
                 {change_message_visibility_batch, change_message_visibility_batch_result},
                 batch_members, id_member | change_members),
    queue_action("ListDeadLetterSourceQueues",
                 {list_dead_letter_source_queues, list_dead_letter_source_queues_result},
                 page_members),
    queue_action("TagQueue", {tag_queue, nullptr, change_tags}, set_of(M::new_tags)),
    queue_action("UntagQueue", {untag_queue, nullptr, change_tags}, set_of(M::tag_keys)),
    queue_action("ListQueueTags", {list_queue_tags, list_queue_tags_result}, 0),
    queue_action("AddPermission", {add_permission, nullptr, change_permissions},
                 set_of(M::label, M::account_ids, M::action_names)),
    queue_action("RemovePermission", {remove_permission, nullptr, change_permissions},
                 set_of(M::label)),
    account_action("StartMessageMoveTask",
                   {start_message_move_task, start_message_move_task_result},
                   set_of(M::source_arn, M::destination_arn, M::move_rate)),
    account_action("CancelMessageMoveTask",
                   {cancel_message_move_task, cancel_message_move_task_result},
                   set_of(M::task_handle)),
    account_action("ListMessageMoveTasks",
                   {list_message_move_tasks, list_message_move_tasks_result},
                   set_of(M::source_arn, M::max_results)),
};

// "send_message" and "SendMessage".
constexpr bool is_name_of(std::string_view enumerator, std::string_view name) {
  std::size_t at = 0;
  for (const char c : name) {
    if (at < enumerator.size() && enumerator[at] == '_') ++at;
    if (at == enumerator.size() || enumerator[at++] != lower(c)) return false;
  }
  return at == enumerator.size();
}
// Each enumerator of SqsAction has its row, in its place.
static_assert([]<std::size_t... i>(std::index_sequence<i...>) {
  return (is_name_of(enum_name<static_cast<SqsAction>(i + 1)>(), actions[i + 1].name) && ...);
}(std::make_index_sequence<std::size(actions) - 1>()));
static_assert(enum_name<static_cast<SqsAction>(std::size(actions))>().empty());

}  // namespace

const SqsActionInfo& info(SqsAction action) {
  const auto i = static_cast<std::size_t>(action);
  CHECK(i < std::size(actions));
  return actions[i];
}

const SqsHandler& handler(SqsAction action) {
  CHECK(action != SqsAction::none);
  return info(action).handler;
}

SqsAction action_named(std::string_view name) {
  if (name.empty()) return SqsAction::none;
  for (std::size_t i = 1; i < std::size(actions); ++i) {
    if (actions[i].name == name) return static_cast<SqsAction>(i);
  }
  return SqsAction::none;
}

}  // namespace pawl
