// SPDX-License-Identifier: Apache-2.0
// An SQS client's connection: one request at a time; the next is read after the response.
//
// Limits: HttpParser's; ConnectionTimes.
#pragma once

#include <memory>
#include <vector>

#include "net/connection/connection.h"
#include "proto/call.h"
#include "proto/http/parser.h"

namespace pawl {

// The timeouts of an arriving request. Before its first byte a connection has the time of a head.
struct HttpTimes {
  Instant since;
  bool silent = true;  // no byte has arrived yet
  HttpParser::Phase phase = HttpParser::Phase::idle;

  void note(HttpParser::Phase now_in, Instant now);
  bool overdue(Instant now, const ConnectionTimes& times) const;
  // While the server drains: whether the connection stays open for a request. An idle one that was
  // used less than `recent` before stays for `grace`, because its next request is probably on its
  // way: that is answered, with `Connection: close`. Clients may send again what was not answered,
  // but not all do.
  static constexpr Duration recent = seconds(1);
  static constexpr Duration grace = milliseconds(250);
  bool stays(Instant drain_begun, Instant now) const;
};

class HttpConnection final : public Connection {
 public:
  HttpConnection(ConnectionHost& host, int fd, Instant now);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() override;

 protected:
  std::size_t take(std::string_view bytes) override;
  bool on_response(PendingCall& call) override;
  void release(PendingCall&) override {}
  bool on_second(Instant now) override;
  std::size_t own_memory() const override {
    return parser_.memory() + call_bytes_ + pending_.size() * sizeof(PendingCall);
  }
  void own_spare() override;
  bool verified() const override;
  bool stays(Instant now) override;

 private:
  bool take_head(std::size_t at_hand);
  void refuse_body(HttpRequest head, int status, std::string_view why);
  void name(HttpRequest& request) const;
  void begin_call();
  void submit_routes();
  void promise_answers();
  void finish_call();
  void count_call();
  void count_request();
  void end_call();

  HttpParser parser_;
  std::unique_ptr<HttpCall> call_;                     // borrowed from the host for one request
  std::size_t call_bytes_ = 0;                         // memory of the call when last counted
  std::vector<std::unique_ptr<PendingCall>> pending_;  // one per route, kept for later requests
  std::size_t promised_ = 0;                           // response bytes of its receives
  std::uint64_t begun_us_ = 0;                         // arrival of the request
  std::size_t under_way_ = 0;                          // routes that wait for their response
  HttpTimes times_;
  bool verified_ = false;  // a request had a valid signature
};

}  // namespace pawl
