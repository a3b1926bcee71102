// SPDX-License-Identifier: Apache-2.0
#include "net/client/message_pool.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/check.h"

namespace pawl::client {

MessagePool::MessagePool(std::size_t bytes)
    : blocks_max_(std::min<std::size_t>(bytes / block_bytes, none - 1)), free_blocks_(blocks_max_) {
  blocks_.reset(new (std::nothrow) Block[blocks_max_]);
}

std::size_t MessagePool::blocks_for(std::size_t bytes) {
  if (bytes <= first_bytes) return 1;
  return 1 + (bytes - first_bytes + data_bytes - 1) / data_bytes;
}

MessagePool::Index MessagePool::take_block() {
  CHECK(free_blocks_ > 0, "a block is taken from a full pool");
  --free_blocks_;
  if (free_ == none) return fresh_++;
  CHECK(free_ < fresh_, "block {} of {} is free", free_, fresh_);
  return std::exchange(free_, blocks_[free_].next);
}

MessagePool::Index MessagePool::take(std::string_view bytes) {
  if (blocks_for(bytes.size()) > free_blocks_) return none;
  const Index first = take_block();
  Block* block = &blocks_[first];
  new (block->data) Message{};
  Index last = first;
  std::size_t at = sizeof(Message);
  for (std::string_view rest = bytes;;) {
    const std::size_t part = std::min(rest.size(), data_bytes - at);
    std::memcpy(block->data + at, rest.data(), part);
    rest.remove_prefix(part);
    if (rest.empty()) break;
    block->next = last = take_block();
    block = &blocks_[last];
    at = 0;
  }
  block->next = none;
  Message& message = this->at(first);
  message.next = none;
  message.last_block = last;
  message.bytes = static_cast<std::uint32_t>(bytes.size());
  return first;
}

void MessagePool::free(Index message) {
  const Message& header = at(message);
  free_blocks_ += blocks_for(header.bytes);
  CHECK(free_blocks_ <= blocks_max_, "{} free blocks of {}", free_blocks_, blocks_max_);
  blocks_[header.last_block].next = free_;
  free_ = message;
}

MessagePool::Message& MessagePool::at(Index message) {
  CHECK(message < blocks_max_, "message {} of {} blocks", message, blocks_max_);
  return *std::launder(reinterpret_cast<Message*>(blocks_[message].data));
}

const MessagePool::Message& MessagePool::at(Index message) const {
  CHECK(message < blocks_max_, "message {} of {} blocks", message, blocks_max_);
  return *std::launder(reinterpret_cast<const Message*>(blocks_[message].data));
}

void MessagePool::append_to(std::string& out, Index message) const {
  std::size_t left = at(message).bytes;
  std::size_t begin = sizeof(Message);
  for (Index index = message; left > 0; index = blocks_[index].next) {
    CHECK(index != none, "a message lacks {} bytes", left);
    const std::size_t part = std::min(left, data_bytes - begin);
    out.append(blocks_[index].data + begin, part);
    left -= part;
    begin = 0;
  }
}

// --- lists ---

void MessageList::push_back(MessagePool& pool, MessagePool::Index message) {
  MessagePool::Message& header = pool.at(message);
  header.next = MessagePool::none;
  (empty() ? first : pool.at(last).next) = message;
  last = message;
  ++count;
  bytes += header.bytes;
}

MessagePool::Index MessageList::pop_front(const MessagePool& pool) {
  CHECK(!empty(), "a message is taken from an empty list");
  const MessagePool::Index message = first;
  const MessagePool::Message& header = pool.at(message);
  CHECK(bytes >= header.bytes, "{} bytes in a list with {}", bytes, header.bytes);
  first = header.next;
  bytes -= header.bytes;
  if (--count == 0) last = MessagePool::none;
  return message;
}

void MessageList::append(MessagePool& pool, MessageList& other) {
  if (other.empty()) return;
  (empty() ? first : pool.at(last).next) = other.first;
  last = other.last;
  count += other.count;
  bytes += other.bytes;
  other = {};
}

void MessageList::merge(MessagePool& pool, MessageList& other) {
  MessageList merged;
  while (!empty() && !other.empty()) {
    const bool before = pool.at(last).number < pool.at(other.first).number;
    const bool after = pool.at(other.last).number < pool.at(first).number;
    if (before || after) {
      merged.append(pool, before ? *this : other);
      continue;
    }
    MessageList& lower = pool.at(first).number < pool.at(other.first).number ? *this : other;
    merged.push_back(pool, lower.pop_front(pool));
  }
  merged.append(pool, empty() ? other : *this);
  *this = merged;
  other = {};
}

}  // namespace pawl::client
