// SPDX-License-Identifier: Apache-2.0
// The parts of an admin page: request and answer, facts of the server, a body from the shards.
//
// A page is a function. It answers at once from AdminFacts, or gives ShardSlices:
//
//   next() --request to a shard, through the mesh--> response --> append(body) --> next() ... null
//
// A slice is bounded by a count, so that a shard spends less than 1 ms on it and serves its other
// clients between two slices. The request carries the cursor of the next slice; a shard keeps
// nothing. The connection asks for the next slice only while its peer reads.
//
// Errors: an AdminAnswer has its status. An error before the first byte of a body becomes the
//         status of the response; a later one cuts the body.
// Owner:  the server owns the facts, and sets them before its shards serve connections. All else is
//         a connection's; the views of a request are valid until its response is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/queue/request.h"
#include "net/admin/metrics.h"
#include "net/connection/connection_host.h"
#include "net/connection/reloadable_settings.h"
#include "net/connection/request_counts.h"

namespace pawl {

struct AdminRequest {
  std::string_view method;        // GET for a HEAD
  std::string_view path;          // as sent, still escaped
  std::string_view query;         // without the `?`, still escaped
  std::string_view content_type;  // of the body; empty: not given
  std::string_view accept;        // the formats that the client takes; empty: not given
  std::string_view body;
};

struct AdminAnswer {
  static constexpr std::string_view plain_text = "text/plain; charset=utf-8";

  int status = 200;
  std::string body;
  std::string_view content_type = plain_text;  // a literal
};

class HealthMonitor;
class ProcessUsage;

// Facts that any shard's thread may read at once.
struct AdminFacts {
  std::vector<const ShardNumbers*> numbers;             // of each shard
  std::vector<const PublishedRequestCounts*> requests;  // of each shard
  const ProcessUsage* process = nullptr;                // null: unknown
  const HealthMonitor* health = nullptr;                // null: nothing is known of the clock
  const ReloadableSettings* settings = nullptr;         // null: there are none
  std::string version;                                  // of the program
  int directory = -1;              // a descriptor of a file in the data directory; -1: none
  std::uint64_t memory_limit = 0;  // bytes
  std::string backend;             // name_of(IoBackend)
  std::string fallback;            // why it is not io_uring; empty: it was not refused
  const std::atomic<Stage>* stage = nullptr;  // relaxed: it orders nothing else

  std::uint32_t shards() const { return static_cast<std::uint32_t>(numbers.size()); }
  bool serving() const { return stage->load(std::memory_order_relaxed) == Stage::serving; }
};

// A body that the shards give, a slice at a time.
class ShardSlices {
 public:
  struct Next {
    Request* request = nullptr;  // null: the body is complete
    ShardId shard{};
  };

  virtual ~ShardSlices() = default;
  virtual std::string_view content_type() const = 0;                // a literal
  virtual std::string_view content_encoding() const { return {}; }  // a literal; empty: none
  // Not null: the request is refused. It can become so before the first byte of the body, and then
  // there is nothing else to be asked for.
  virtual const AdminAnswer* refusal() const { return nullptr; }
  // The request for the next slice, the same until its answer is appended. The object owns it.
  virtual Next next() = 0;
  // The request was answered without an error: appends its part of the body, which may be nothing.
  virtual void append(std::string& body) = 0;
  virtual std::size_t memory() const = 0;  // bytes
};

struct AdminPage {
  std::string_view path;
  std::string_view methods;  // as in Allow
  // Either is set: the function of a page of server facts, or of a page that needs the shards.
  AdminAnswer (*answer)(const AdminRequest&, const AdminFacts&) = nullptr;
  std::unique_ptr<ShardSlices> (*ask)(const AdminRequest&, const AdminFacts&) = nullptr;

  bool allows(std::string_view method) const;
};

}  // namespace pawl
