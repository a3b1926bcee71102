// SPDX-License-Identifier: Apache-2.0
// An operator's connection to the admin port: one request at a time.
//
//   idle --request for server facts--> answered at once --> idle
//   idle --request for the shards--> asking --response--> asking | waiting | complete --> idle
//   waiting (unsent_max bytes are unsent) --all sent--> asking
//
// A body from the shards is sent in chunks as its slices arrive, to an HTTP/1.0 client until the
// connection closes. It can be cut: by an error of a shard after the first slice, by a stop of the
// server, which does not wait for it, and by a peer that does not read. Then the last chunk is
// missing. It is compressed if the client accepts gzip.
//
// Units:  bytes.
// Limits: body_bytes_max (413); unsent_max and one slice of unsent output; the timeouts of
//         ConnectionTimes and Connection.
// Errors: 401: no token, or a wrong one; 403: refused by the guard; 404 and 405: page_table.h; a
//         refusal of the page; an error of a slice before the first byte: 404 for no_such_queue,
//         else 503.
// Owner:  the Connections of its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/admin/admin_page.h"
#include "net/connection/connection.h"
#include "net/connection/http_connection.h"
#include "proto/http/parser.h"

namespace pawl {

class AdminConnection final : public Connection {
 public:
  static constexpr std::size_t body_bytes_max = 4 << 10;
  static constexpr std::size_t unsent_max = 256 << 10;  // no further slice is asked for

  AdminConnection(ConnectionHost& host, int fd, Instant now);

 protected:
  std::size_t take(std::string_view bytes) override;
  bool on_response(PendingCall& call) override;
  void release(PendingCall&) override {}
  bool on_second(Instant now) override;
  void on_all_sent() override;
  std::size_t own_memory() const override;
  bool stays(Instant now) override;

 private:
  void begin_answer(const HttpRequest& request);
  bool is_admitted(const HttpRequest& request);
  void write(const AdminAnswer& answer, std::string_view allow = {},
             std::string_view authenticate = {});
  void end_request();
  void ask_shard();
  void refuse(Errc error);
  bool write_slice(std::string_view body);
  void write_head();

  HttpParser parser_;
  HttpTimes times_;
  bool keep_alive_ = false;  // of the request under way
  bool head_written_ = false;
  std::unique_ptr<ShardSlices> slices_;  // null: no body is under way
  ShardSlices::Next next_;
  PendingCall call_;
};

// `facts` must outlive all connections.
AdminPort admin_port(const AdminFacts& facts);

}  // namespace pawl
