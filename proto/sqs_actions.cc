#include "proto/sqs_actions.h"

#include "core/check.h"

namespace pawl {

const SqsHandler& handler(SqsAction action) {
  using namespace sqs;
  // In the order of SqsAction, as far as it is served.
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
  };
  const auto i = static_cast<std::size_t>(action);
  CHECK(i > 0 && i < std::size(handlers));
  return handlers[i];
}

}  // namespace pawl
