// SPDX-License-Identifier: Apache-2.0
// DevCall: a request to a development server (`pawl serve --dev`) that no AWS service has.
//
//   GET  /_localstack/health              {"services":{"sqs":"running",...}}, as LocalStack answers
//   POST /_pawl/reset[?account=ID]        deletes all queues and topics, or those of one account;
//                                         then makes the declared ones anew
//   POST /_pawl/clock {"advance":"15m"}   so much time passes at once
//   GET  /_pawl/wait?queue=NAME&visible=10[&timeout=5s][&account=ID]
//                                         answers when that many messages or more are visible; with
//                                         visible=0 when the queue has none in any state
//   GET  /_pawl/messages?queue=NAME, /_aws/sqs/messages?QueueUrl=URL
//                                         a queue's messages: message_pages.h
//
// A wait asks the queue's shard for the counts, rests, and asks again.
//
// Limits: routes_max requests at once; duration_max of proto/text/duration.h; wait_max.
// Errors: status and a sentence: 400 for a wrong value, 404 for a missing queue or page, and for
//         every page without --dev; 405 for another method; 408 at the end of a wait, with the
//         counts; 503 when a shard refuses.
// Owner:  the HttpCall. Memory used by the requests stays valid until the next begin().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/dev/message_pages.h"
#include "proto/http/parser.h"
#include "proto/text/form.h"

namespace pawl {

// The parts of a development server that its requests may change. The server owns it; any shard's
// thread may call it.
class DevControl {
 public:
  virtual ~DevControl() = default;
  // So much time passes at once, for all shards. `by` is not negative.
  virtual void advance_clock(Duration by) = 0;
  virtual std::uint32_t shards() const = 0;
};

class DevCall {
 public:
  static constexpr std::size_t routes_max = 256;
  static constexpr Duration wait_default = seconds(5), wait_max = seconds(60);
  static constexpr Duration rest{5};  // between two counts of a wait

  // True: the path is one of development servers, whether or not there is such a page.
  static bool owns(std::string_view path) {
    return path.starts_with("/_pawl/") || path.starts_with("/_localstack/") ||
           path.starts_with("/_aws/");
  }

  // `account`: the caller's.
  CallStep begin(const HttpRequest& http, std::string_view account, const Directory& directory,
                 const CallSettings& settings, Instant now);
  std::span<const CallRoute> routes() const { return routes_; }
  CallStep resume();

  std::string_view action() const { return action_; }  // of the page; empty: there is none
  std::uint16_t status() const { return status_; }
  std::string_view content_type() const { return content_type_; }
  std::string_view body() const { return body_; }
  std::size_t memory() const;  // approximate bytes held

 private:
  struct Page;
  static const Page pages[];

  CallStep answer(std::uint16_t status, std::string body, std::string_view content_type);
  CallStep refuse(std::uint16_t status, std::string why);
  CallStep health(const HttpRequest& http, const Directory& directory, DevControl& control);
  CallStep reset(const HttpRequest& http, const Directory& directory, DevControl& control);
  CallStep clock(const HttpRequest& http, const Directory& directory, DevControl& control);
  CallStep wait(const HttpRequest& http, const Directory& directory, DevControl& control);
  CallStep messages(const HttpRequest& http, const Directory& directory, DevControl& control);
  CallStep follow_messages(CallStep step);
  CallStep read_wait(const Form& form, std::string_view& queue, std::string_view& account);
  CallStep delete_next();
  CallStep declare();
  CallStep follow_declared(CallStep step);
  CallStep route_one(Op op);
  CallStep judge_counts();

  std::string_view action_;
  std::uint16_t status_ = 200;
  std::string_view content_type_;
  std::string body_;
  std::vector<QueueId> doomed_;  // queues and topics that reset deletes
  std::size_t deleted_ = 0;      // number of those that have a route or had one
  struct Wait {                  // no queue: this is no wait
    QueueId queue = QueueId::none;
    ShardId shard{};
    std::uint64_t visible = 0;
    Duration left;
  };
  Wait wait_;
  std::string_view caller_;    // the account of the request
  std::string reset_account_;  // of a reset; empty: all
  const CallSettings* settings_ = nullptr;
  Instant now_;  // engine time
  std::unique_ptr<MessagePages> messages_;
  const Directory* directory_ = nullptr;
  // A reset whose deletions are done makes the declared queues. Null: not yet, or there are none.
  std::unique_ptr<RoutedWork> declared_;
  std::vector<Request> requests_;
  std::vector<CallRoute> routes_;
};

}  // namespace pawl
