// SPDX-License-Identifier: Apache-2.0
// The server's connection to itself, at whose first byte it makes what its configuration file
// declares. The other end then reads the outcome and the end of the connection:
//
//   "+SUMMARY" done     "-FAULT" refused     "~FAULT" refused, but a later start may succeed
//
// Owner:  the Connections of its shard.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "net/connection/connection.h"
#include "proto/aws/call_types.h"

namespace pawl {

class DeclaredConnection final : public Connection {
 public:
  DeclaredConnection(ConnectionHost& host, int fd) : Connection(host, fd) {}

 protected:
  std::size_t take(std::string_view bytes) override;
  bool on_response(PendingCall& call) override;
  void release(PendingCall&) override {}
  bool on_second(Instant) override { return false; }
  std::size_t own_memory() const override { return pending_.size() * sizeof(PendingCall); }
  bool stays(Instant) override { return under_way_ > 0; }

 private:
  void go_on(CallStep step);

  std::unique_ptr<RoutedWork> work_;  // null: not begun
  std::vector<std::unique_ptr<PendingCall>> pending_;
  std::size_t under_way_ = 0;
};

}  // namespace pawl
