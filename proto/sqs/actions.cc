// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/actions.h"

#include "core/check.h"

namespace pawl {

const SqsHandler& handler(SqsAction action) {
  using namespace sqs;
  // The order is that of SqsAction.
  static constexpr SqsHandler handlers[] = {
      {},
      {create_queue, create_queue_result},
      {get_queue_url, get_queue_url_result},
      {list_queues, list_queues_result},
      {delete_queue, nullptr},
      {purge_queue, nullptr},
      {get_queue_attributes, get_queue_attributes_result},
      {set_queue_attributes, nullptr},
      {send_message, send_message_result},
      {send_message_batch, send_message_batch_result},
      {receive_message, receive_message_result},
      {delete_message, nullptr},
      {delete_message_batch, delete_message_batch_result},
      {change_message_visibility, nullptr},
      {change_message_visibility_batch, change_message_visibility_batch_result},
      {list_dead_letter_source_queues, list_dead_letter_source_queues_result},
      {tag_queue, nullptr, change_tags},
      {untag_queue, nullptr, change_tags},
      {list_queue_tags, list_queue_tags_result},
      {add_permission, nullptr, change_permissions},
      {remove_permission, nullptr, change_permissions},
      {start_message_move_task, start_message_move_task_result},
      {cancel_message_move_task, cancel_message_move_task_result},
      {list_message_move_tasks, list_message_move_tasks_result},
  };
  static_assert(std::size(handlers) ==
                static_cast<std::size_t>(SqsAction::list_message_move_tasks) + 1);
  const auto i = static_cast<std::size_t>(action);
  CHECK(i > 0);
  CHECK(i < std::size(handlers));
  return handlers[i];
}

}  // namespace pawl
