// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/state.h"

#include "core/base/free_memory.h"

namespace pawl {
namespace {

template <typename T>
void clear_and_trim(T& container, std::size_t keep_max) {
  container.clear();
  if (container.capacity() > keep_max) container.shrink_to_fit();
}

}  // namespace

void SqsState::use(const QueueConfig& the_queue) {
  queue = &the_queue;
  queue_name = input.arena.copy(queue->name);
  queue_account = input.arena.copy(queue->account);
  fifo = queue->is_fifo();
  visibility_max_s = queue->visibility_limit().ms / 1000;
  request.queue = queue->id;
}

void SqsState::reset() {
  constexpr std::size_t text_keep_max = 4096;
  protocol = SqsProtocol::query;
  query_mode = accepts_json = false;
  host = trace = account = {};
  action = SqsAction::none;
  input.clear();
  refusal.clear();
  queue = nullptr;
  queue_name = queue_account = {};
  fifo = false;
  visibility_max_s = 0;
  free_memory(request.route.copied);  // the assignment below would keep its memory
  request = {};
  for (SqsEntry& entry : entries) {
    entry.refusal.clear();
    clear_and_trim(entry.message.attributes, text_keep_max);
    clear_and_trim(entry.message.system, text_keep_max);
  }
  sends.clear();
  receipts.clear();
  deliveries.clear();
  tags.clear();
  retries = 0;
  found.reset();
  listed.clear();
  clear_and_trim(scratch, text_keep_max);
  clear_and_trim(result, 0);
  clear_and_trim(envelopes, 0);
  answered = 0;
}

std::size_t SqsState::memory() const {
  std::size_t bytes = sizeof(SqsState) + input.memory() + entries.capacity() * sizeof(SqsEntry) +
                      sends.capacity() * sizeof(SendEntry) +
                      receipts.capacity() * sizeof(ReceiptEntry) +
                      deliveries.capacity() * sizeof(Delivery) + request.route.copied.capacity() +
                      listed.capacity() * sizeof(ConfigPtr) + scratch.capacity() +
                      result.capacity() + envelopes.capacity();
  for (const SqsEntry& entry : entries)
    bytes += entry.message.attributes.capacity() + entry.message.system.capacity();
  return bytes;
}

}  // namespace pawl
