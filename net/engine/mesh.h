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
// Orders: the release of a sender that sets "notified" pairs with the acquire of a sleeper that
// sets "sleeping". The exchanges in between may be relaxed, because read-modify-writes continue
// the sender's release sequence; plain stores would end it. The system call that wakes need not
// order anything. tests/orders/ checks each order over all interleavings.
//
// Messages that do not fit into a ring wait with their sender, in order: a send never blocks, and
// no cycle of shards can deadlock. Their number is bounded by the requests that connections may
// have under way.
//
// Limits: mesh_slots messages a pair; shards_max shards.
// Owner:  a port belongs to its shard's thread; the mesh outlives all ports.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/containers/ring_queue.h"
#include "core/containers/spsc.h"

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

template <typename Memory, std::size_t slots>
class BasicMeshPort;

// `slots`: of the ring of each pair.
template <typename Memory, std::size_t slots>
class BasicMesh {
 public:
  static constexpr std::size_t ring_slots = slots;

  explicit BasicMesh(std::uint32_t shards);
  std::uint32_t shards() const { return shards_; }

 private:
  friend class BasicMeshPort<Memory, slots>;
  using Ring = SpscRing<MeshMessage, slots, Memory>;
  enum State : std::uint32_t { awake = 0, sleeping = 1, notified = 2 };  // notified: a bit
  struct alignas(cache_line_bytes) Sleeper {
    typename Memory::template Atomic<std::uint32_t> state{awake};
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
template <typename Memory, std::size_t slots>
class BasicMeshPort {
 public:
  using Mesh = BasicMesh<Memory, slots>;

  BasicMeshPort(Mesh& mesh, ShardId self);

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
  // An exchange, not a store: see Orders above.
  void awake() {
    mesh_->sleepers_[raw(self_)].state.exchange(Mesh::awake, std::memory_order_relaxed);
  }

 private:
  Mesh* mesh_;
  ShardId self_;
  std::vector<RingQueue<MeshMessage>> waiting_;  // per target: messages its full ring cannot take
  std::size_t backlog_ = 0;
  std::uint64_t dirty_ = 0;  // targets sent to since the last publish
};

template <typename Memory, std::size_t slots>
BasicMesh<Memory, slots>::BasicMesh(std::uint32_t shards) : shards_(shards), sleepers_(shards) {
  CHECK(shards >= 1 && shards <= shards_max, "{}", shards);
  for (std::uint32_t i = 0; i < shards * shards; ++i) rings_.push_back(std::make_unique<Ring>());
}

template <typename Memory, std::size_t slots>
BasicMeshPort<Memory, slots>::BasicMeshPort(Mesh& mesh, ShardId self)
    : mesh_(&mesh), self_(self), waiting_(mesh.shards()) {
  CHECK(raw(self) < mesh.shards(), "shard {} of {}", raw(self), mesh.shards());
}

template <typename Memory, std::size_t slots>
void BasicMeshPort<Memory, slots>::send(ShardId to, MeshMessage message) {
  CHECK(to != self_ && raw(to) < mesh_->shards_);
  dirty_ |= std::uint64_t{1} << raw(to);
  RingQueue<MeshMessage>& waiting = waiting_[raw(to)];
  if (waiting.empty() && mesh_->ring(raw(self_), raw(to)).push(message)) return;
  if (MUTANT(drop_when_full)) return;
  waiting.push_back(message);
  ++backlog_;
  CHECK(backlog_ >= waiting.size(), "{} messages of {}", waiting.size(), backlog_);
}

template <typename Memory, std::size_t slots>
std::uint64_t BasicMeshPort<Memory, slots>::publish() {
  std::uint64_t published = 0;
  for (std::uint64_t left = dirty_; left != 0; left &= left - 1) {
    const auto to = static_cast<std::uint32_t>(std::countr_zero(left));
    auto& ring = mesh_->ring(raw(self_), to);
    RingQueue<MeshMessage>& waiting = waiting_[to];
    while (!waiting.empty() && ring.push(waiting.front())) {
      waiting.pop_front();
      CHECK(backlog_ > 0);
      --backlog_;
    }
    if (waiting.empty()) dirty_ &= ~(std::uint64_t{1} << to);
    if (!ring.unpublished()) continue;
    ring.publish();
    published |= std::uint64_t{1} << to;
  }
  CHECK((dirty_ == 0) == (backlog_ == 0), "{} messages wait", backlog_);
  if (MUTANT(wake_nobody)) return 0;
  std::uint64_t wake = 0;
  for (std::uint64_t left = published; left != 0; left &= left - 1) {
    const auto to = static_cast<std::uint32_t>(std::countr_zero(left));
    // Pairs with the acquire in try_sleep(): a sleeper that finds this bit finds the messages.
    if (mesh_->sleepers_[to].state.fetch_or(Mesh::notified, std::memory_order_release) ==
        Mesh::sleeping) {
      wake |= std::uint64_t{1} << to;
    }
  }
  return wake;
}

template <typename Memory, std::size_t slots>
bool BasicMeshPort<Memory, slots>::try_sleep() {
  if (backlog_ > 0) return false;
  auto& state = mesh_->sleepers_[raw(self_)].state;
  // Pairs with the release in publish(), also of senders before the last awake().
  state.exchange(Mesh::sleeping, std::memory_order_acquire);
  for (std::uint32_t from = 0; from < mesh_->shards_; ++from) {
    if (from == raw(self_) || mesh_->ring(from, raw(self_)).empty() || MUTANT(sleep_blindly))
      continue;
    state.exchange(Mesh::awake, std::memory_order_relaxed);  // as awake()
    return false;
  }
  return true;
}

inline constexpr std::size_t mesh_slots = 256;
using Mesh = BasicMesh<StdMemory, mesh_slots>;
using MeshPort = BasicMeshPort<StdMemory, mesh_slots>;
extern template class BasicMesh<StdMemory, mesh_slots>;
extern template class BasicMeshPort<StdMemory, mesh_slots>;

}  // namespace pawl
