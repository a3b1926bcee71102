// SPDX-License-Identifier: Apache-2.0
// Bounded memory for a Producer's messages: blocks of 256 bytes, chained.
//
//   message: | header 40 | bytes 208 | --> | bytes 248 | --> ...
//
// One allocation at the start holds everything: a message takes whole blocks for its bytes and its
// bookkeeping, and nothing is allocated later. A message is named by the number of its first block.
// Memory that was never used is not touched.
//
// Limits: the bytes given to the constructor.
// Errors: none is returned when the memory is full.
// Owner:  one Intake, under its lock. Whoever holds a MessageList reads its messages without it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::client {

class MessagePool {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = 0xFFFF'FFFF;
  static constexpr std::size_t block_bytes = 256;

  struct Message {
    std::uint64_t cookie;
    std::uint64_t number;  // ascending in the order of acceptance
    std::chrono::steady_clock::time_point deadline;
    Index next;  // in its MessageList
    Index last_block;
    std::uint32_t bytes;
    bool needs_deduplication_id;
  };

  explicit MessagePool(std::size_t bytes);
  bool valid() const { return blocks_ != nullptr; }  // false: there is no memory

  // A new message with these bytes, of which only last_block and bytes are set.
  Index take(std::string_view bytes);
  void free(Index message);

  Message& at(Index message);
  const Message& at(Index message) const;
  void append_to(std::string& out, Index message) const;

  std::size_t free_bytes() const { return free_blocks_ * block_bytes; }
  // Memory for a message of that many bytes.
  static std::size_t bytes_for(std::size_t bytes) { return blocks_for(bytes) * block_bytes; }

 private:
  static constexpr std::size_t data_bytes = block_bytes - 8;
  struct alignas(8) Block {
    Index next;
    std::uint32_t unused;
    char data[data_bytes];
  };
  static constexpr std::size_t first_bytes = data_bytes - sizeof(Message);
  static_assert(sizeof(Block) == block_bytes && sizeof(Message) == 40);

  static std::size_t blocks_for(std::size_t bytes);
  Index take_block();

  std::unique_ptr<Block[]> blocks_;
  std::size_t blocks_max_;
  std::size_t free_blocks_;
  Index free_ = none;  // a chain of freed blocks
  Index fresh_ = 0;    // the blocks from here on were never used
};

// Messages in the order of their numbers, linked through their headers.
struct MessageList {
  MessagePool::Index first = MessagePool::none;
  MessagePool::Index last = MessagePool::none;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  // of the messages, without headers

  bool empty() const { return count == 0; }
  void push_back(MessagePool& pool, MessagePool::Index message);
  MessagePool::Index pop_front(const MessagePool& pool);
  // Moves all messages of `other` into this list. It is fast where all numbers of one list are
  // lower than those of the other.
  void merge(MessagePool& pool, MessageList& other);

 private:
  void append(MessagePool& pool, MessageList& other);
};

}  // namespace pawl::client
