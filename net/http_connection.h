// An SQS client's connection: one request after the other, each answered before the next is read.
//
// Limits: HttpParser's; head_timeout, body_timeout and idle_timeout.
#pragma once

#include "net/connection.h"
#include "proto/http.h"
#include "proto/sqs.h"

namespace pawl {

// How long a request may take to arrive.
struct HttpTimes {
  static constexpr Duration head_timeout = seconds(10);
  static constexpr Duration body_timeout = seconds(30);
  static constexpr Duration idle_timeout = seconds(75);

  Instant since;
  HttpParser::Phase phase = HttpParser::Phase::idle;

  void note(HttpParser::Phase now_in, Instant now);
  bool overdue(Instant now) const;
};

class HttpConnection final : public Connection {
 public:
  HttpConnection(Connections& table, int fd, Instant now);
  std::string_view kind() const override { return "http"; }

 protected:
  std::size_t take(std::string_view bytes) override;
  bool answered(PendingCall& call) override;
  void release(PendingCall&) override {}
  bool overdue(Instant now) const override { return times_.overdue(now); }

 private:
  void begin_call();
  void finish_call();

  HttpParser parser_;
  SqsCall call_;
  PendingCall pending_;
  bool busy_ = false;
  HttpTimes times_;
};

// Operators' connection: liveness, readiness, numbers. Answers at once, from the shard that has it.
class AdminConnection final : public Connection {
 public:
  AdminConnection(Connections& table, int fd, Instant now);
  std::string_view kind() const override { return "admin"; }

 protected:
  std::size_t take(std::string_view bytes) override;
  bool answered(PendingCall&) override { return true; }
  void release(PendingCall&) override {}
  bool overdue(Instant now) const override { return times_.overdue(now); }

 private:
  HttpParser parser_;
  HttpTimes times_;
};

}  // namespace pawl
