// SPDX-License-Identifier: Apache-2.0
#include "net/engine/mesh.h"

#include <bit>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {

Mesh::Mesh(std::uint32_t shards) : shards_(shards), sleepers_(shards) {
  CHECK(shards >= 1 && shards <= shards_max, "{}", shards);
  for (std::uint32_t i = 0; i < shards * shards; ++i) rings_.push_back(std::make_unique<Ring>());
}

MeshPort::MeshPort(Mesh& mesh, ShardId self) : mesh_(&mesh), self_(self), waiting_(mesh.shards()) {
  CHECK(raw(self) < mesh.shards(), "shard {} of {}", raw(self), mesh.shards());
}

void MeshPort::send(ShardId to, MeshMessage message) {
  CHECK(to != self_ && raw(to) < mesh_->shards_);
  dirty_ |= std::uint64_t{1} << raw(to);
  RingQueue<MeshMessage>& waiting = waiting_[raw(to)];
  if (waiting.empty() && mesh_->ring(raw(self_), raw(to)).push(message)) return;
  if (MUTANT(drop_when_full)) return;
  waiting.push_back(message);
  ++backlog_;
  CHECK(backlog_ >= waiting.size(), "{} messages of {}", waiting.size(), backlog_);
}

std::uint64_t MeshPort::publish() {
  std::uint64_t published = 0;
  for (std::uint64_t left = dirty_; left != 0; left &= left - 1) {
    const auto to = static_cast<std::uint32_t>(std::countr_zero(left));
    Mesh::Ring& ring = mesh_->ring(raw(self_), to);
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
    if (mesh_->sleepers_[to].state.fetch_or(Mesh::notified, std::memory_order_acq_rel) ==
        Mesh::sleeping) {
      wake |= std::uint64_t{1} << to;
    }
  }
  return wake;
}

bool MeshPort::try_sleep() {
  if (backlog_ > 0) return false;
  std::atomic<std::uint32_t>& state = mesh_->sleepers_[raw(self_)].state;
  state.exchange(Mesh::sleeping, std::memory_order_acq_rel);
  for (std::uint32_t from = 0; from < mesh_->shards_; ++from) {
    if (from == raw(self_) || mesh_->ring(from, raw(self_)).empty() || MUTANT(sleep_blindly))
      continue;
    state.exchange(Mesh::awake, std::memory_order_acq_rel);
    return false;
  }
  return true;
}

}  // namespace pawl
