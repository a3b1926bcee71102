// SPDX-License-Identifier: Apache-2.0
// The implementation of pawl::Client: the pipeline, and the arrays referenced by completions. The
// blocking calls (blocking.cc) and the pipelined ones (client.cc) both use submit().
//
// Owner: one Client.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/client/connecting.h"
#include "net/client/pawl/client.h"
#include "net/client/pipeline.h"
#include "proto/binary/frames.h"

namespace pawl {

class Client::Impl {
 public:
  Impl(client::Greeted greeted, const Options& options)
      : pipeline(std::move(greeted.pipeline)),
        server(std::move(greeted.server)),
        groups(greeted.groups),
        subscriptions(greeted.subscriptions),
        send_once(greeted.send_once),
        options_(options) {}

  // Submits the payload appended by `write`. A Code other than ok from `write` abandons the
  // request.
  template <typename Write>
  Result<Ticket> submit(BinaryOp op, std::uint32_t queue, Write&& write) {
    if (const auto obstacle = pipeline.obstacle()) return std::unexpected(*obstacle);
    const Code code = write(pipeline.begin(op, queue));
    if (code == Code::ok) return pipeline.finish();
    pipeline.abandon();
    return client::failed(code);
  }

  // A handle is valid on one connection only: the queue of another Client is refused.
  template <typename Write>
  Result<Ticket> submit(BinaryOp op, const Queue& queue, Write&& write) {
    if (queue.client != number) return client::failed(Code::bad_handle);
    return submit(op, queue.handle, write);
  }

  // One request and its response, whose payload is valid until the next call.
  // `queue`: a Queue, or 0 for a request without a queue.
  template <typename Target, typename Write>
  Result<client::Answer> call(BinaryOp op, const Target& queue, Write&& write) {
    if (pipeline.outstanding() > 0) return client::failed(Code::busy);
    return await(submit(op, queue, write), options_.request_timeout);
  }
  template <typename Target>
  Result<client::Answer> call(BinaryOp op, const Target& queue) {
    return call(op, queue, [](std::string&) { return Code::ok; });
  }
  // Waits for a response like a blocking call: at most request_timeout + `extra`.
  Result<client::Answer> finish(Result<Ticket> ticket, std::chrono::milliseconds extra = {}) {
    return await(ticket, options_.request_timeout + extra);
  }

  Code put_batch(std::string& out, std::span<const Outgoing> batch,
                 const SendOptions& options) const;
  Result<std::size_t> poll(std::vector<Completion>& completions, std::chrono::microseconds timeout);

  client::Pipeline pipeline;
  const std::uint64_t number = next_number();  // unique in this process
  Server server;
  bool groups;         // the server supports groups and attempts
  bool subscriptions;  // the server supports SUBSCRIBE
  bool send_once;      // the server supports SEND_ONCE

 private:
  // The ends of a response's entries in the arrays below, which may move until all are taken.
  struct Ends {
    std::size_t sent = 0, messages = 0, codes = 0;
  };
  Result<client::Answer> await(const Result<Ticket>& ticket, std::chrono::milliseconds timeout);
  bool take_entries(const client::Answer& answer);
  static std::uint64_t next_number();
  Ends ends() const { return {sent_.size(), messages_.size(), codes_.size()}; }

  Options options_;
  std::vector<client::Answer> answers_;
  std::vector<Sent> sent_;
  std::vector<MessageView> messages_;
  std::vector<Code> codes_;
  std::vector<Ends> ends_;
};

}  // namespace pawl
