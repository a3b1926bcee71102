// SPDX-License-Identifier: Apache-2.0
// DeclaredStart: at the start of a server, makes what its configuration file declares, before
// clients are accepted. The shards carry it out, over a connection of the server to itself.
//
// Errors: apply() returns the fault; the server must then stop.
// Owner:  the server.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/server/start_error.h"
#include "proto/aws/call_types.h"
#include "proto/declared/declared_rows.h"

namespace pawl {

class DeclaredStart {
 public:
  DeclaredStart();
  ~DeclaredStart();
  DeclaredStart(const DeclaredStart&) = delete;
  DeclaredStart& operator=(const DeclaredStart&) = delete;

  // The end for a shard, which closes it; -1: no pair of sockets could be made.
  int shard_end();
  // Blocks until all is made. The summary of the declaration.
  std::expected<std::string, StartError> apply();

 private:
  int own_ = -1, shard_ = -1;
  int error_ = 0;  // without a pair of sockets: the reason
};

using DeclaredRowsPtr = std::shared_ptr<const DeclaredRows>;

// For CallSettings::declare; null without rows.
std::function<std::unique_ptr<RoutedWork>(std::string_view)> declare_with(
    const DeclaredRowsPtr& rows, const CallSettings& settings);

}  // namespace pawl
