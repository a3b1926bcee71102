// SPDX-License-Identifier: Apache-2.0
// Acceptor: takes new connections from the listening sockets and gives each to a shard.
//
//   waiting --admits--> accepting --stop()--> cancelled --last completion--> ended
//
// At its end an own socket refuses further clients; those whom the kernel has accepted are taken
// first, because closing the socket would reset them. A handed socket (handed_sockets.h) keeps its
// queue for the next server.
//
// Limits: those of ConnectionLimits; a connection beyond them is closed.
// Errors: without descriptors or memory, an accept is tried again each second.
// Owner:  the worker of shard 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "net/connection/connections.h"
#include "net/io/ring.h"

namespace pawl {

struct ListeningSocket {
  int fd = -1;
  Protocol protocol{};
  bool handed = false;  // another process made it and keeps it
};

class Acceptor {
 public:
  // `open_counts`: connections of each shard; `self`: the shard of the thread.
  Acceptor(Ring& ring, const ConnectionContext& context,
           std::vector<std::atomic<std::uint32_t>>& open_counts, Connections& connections,
           ShardLoop& loop, ShardId self);
  // `own`: a connection of the server to itself, which is served at once; -1: none. The sockets
  // wait until `admits`, which must outlive the acceptor.
  void begin(const std::vector<ListeningSocket>& sockets, int own, const std::atomic<bool>& admits);
  void accept_if_admitted();
  // A completion with RingOp::accept.
  void complete(RingTag tag, std::int32_t result, std::uint32_t flags);
  void second_passed();
  // While draining the admin port goes on: it shows the drain. From now on connections stay in this
  // shard, because others may have ended.
  void stop(Stage stage);
  // No socket that stop() named accepts any more.
  bool ended() const;

 private:
  struct Listener {
    ListeningSocket socket;
    bool armed = false;
    bool stopped = false;
  };

  void arm(std::uint32_t listener);
  void end(const ListeningSocket& socket);
  void take(int fd, Protocol protocol);

  Ring* ring_;
  const ConnectionContext* context_;
  std::vector<std::atomic<std::uint32_t>>* open_counts_;
  Connections* connections_;
  ShardLoop* loop_;
  std::uint32_t self_;
  const std::atomic<bool>* admits_ = nullptr;  // null: the sockets are armed, or stopped
  Stage stage_ = Stage::serving;
  std::vector<Listener> listeners_;
  std::vector<std::uint32_t> postponed_;  // no descriptors or memory: armed again each second
};

}  // namespace pawl
