// SPDX-License-Identifier: Apache-2.0
// The mesh: messages between shards. It has one ring for every ordered pair, and a way to wake a
// sleeping shard.
//
//   send ... send, publish ----ring----> drain       (16-byte messages, pointers inside)
//                      \--- was asleep? the result names it: wake it
//                           (MSG_RING in net/, a flag in the simulator)
//
// A sleeper sets "sleeping", looks at every ring once more, then sleeps. A sender publishes, then
// sets "notified". Both change the one word atomically, so one change comes after the other and
// sees it: either the sender finds a sleeper to wake, or the sleeper finds the message.
//
//   awake --try_sleep--> sleeping --publish by another--> notified --awake()--> awake
//
// Messages that do not fit into a ring wait with their sender, in order: a send never blocks, and
// no cycle of shards can deadlock. Their number is bounded by the requests that connections may
// have under way.
//
// Limits: ring_slots messages a pair; shards_max shards.
// Owner:  a port belongs to its shard's thread; the mesh outlives all ports.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/check.h"
#include "core/ids.h"
#include "core/ring_queue.h"
#include "core/spsc.h"

namespace pawl {

struct MeshMessage {
  enum class Kind : std::uint64_t {
    request,     // Request*: apply it
    response,    // Request*: it is answered and returns to its home
    cancel,      // Request*: cancel the long poll
    cancelled,   // Request*: the cancel is done; its response, if any, came before this
    config,      // ConfigChange*: from the control shard
    known,       // ConfigChange*: applied
    connection,  // a file descriptor, from the acceptor
  };
  Kind kind{};
  union {
    void* pointer = nullptr;
    std::uint64_t number;
  };
};
static_assert(sizeof(MeshMessage) == 16);

class Mesh {
 public:
  static constexpr std::size_t ring_slots = 256;

  explicit Mesh(std::uint32_t shards);
  std::uint32_t shards() const { return shards_; }

 private:
  friend class MeshPort;
  using Ring = SpscRing<MeshMessage, ring_slots>;
  enum State : std::uint32_t { awake = 0, sleeping = 1, notified = 2 };  // notified: a bit
  struct alignas(cache_line_bytes) Sleeper {
    std::atomic<std::uint32_t> state{awake};
  };

  Ring& ring(std::uint32_t from, std::uint32_t to) {
    CHECK(from < shards_ && to < shards_, "from {} to {}", from, to);
    return *rings_[from * shards_ + to];
  }

  std::uint32_t shards_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<Sleeper> sleepers_;
};

// One shard's end of the mesh.
class MeshPort {
 public:
  MeshPort(Mesh& mesh, ShardId self);

  ShardId self() const { return self_; }
  std::uint32_t shards() const { return mesh_->shards(); }

  void send(ShardId to, MeshMessage message);
  // Makes the sent messages visible. Returns the sleeping shards that must be woken, a bit each.
  std::uint64_t publish();
  // True: messages still wait for space in a ring; call publish() again soon.
  bool backlog() const { return backlog_ > 0; }

  // Calls take(ShardId from, const MeshMessage&), at most `max_each` times for each other shard.
  template <typename Take>
  std::size_t drain(std::size_t max_each, Take&& take) {
    std::size_t taken = 0;
    for (std::uint32_t from = 0; from < mesh_->shards_; ++from) {
      if (from == raw(self_)) continue;
      taken += mesh_->ring(from, raw(self_)).drain(max_each, [&](const MeshMessage& message) {
        take(ShardId{static_cast<std::uint8_t>(from)}, message);
      });
    }
    return taken;
  }

  // True: no message has arrived, and each later sender will wake this shard.
  bool try_sleep();
  void awake() {
    mesh_->sleepers_[raw(self_)].state.exchange(Mesh::awake, std::memory_order_acq_rel);
  }

 private:
  Mesh* mesh_;
  ShardId self_;
  std::vector<RingQueue<MeshMessage>> waiting_;  // per target: messages its full ring cannot take
  std::size_t backlog_ = 0;
  std::uint64_t dirty_ = 0;  // targets sent to since the last publish
};

}  // namespace pawl
