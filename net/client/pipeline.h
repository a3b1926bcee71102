// SPDX-License-Identifier: Apache-2.0
// Requests in flight on one connection: credit, correlation, and matching of responses.
//
//   begin() -> payload appended to out() -> finish() -> Ticket
//   turn(): sends, receives, and appends each arrived response to a vector
//
// A correlation is a slot number and the slot's use count, so that an unexpected response is
// recognised. A subscription keeps its slot for all its DELIVERs, until its response arrives.
//
// Limits: the server's credit, in frames and bytes; a single frame may always be sent.
// Errors: the first failure is kept in failure() and is final.
// Owner:  the client's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/client/pawl/client.h"
#include "net/client/socket.h"
#include "proto/binary/frames.h"

namespace pawl::client {

struct Answer {
  Client::Ticket ticket = 0;
  BinaryOp op{};  // of the request, or deliver
  FrameHeader header;
  Client::Error error;
  std::string_view payload;  // into the receive buffer; empty with an error
};

Client::Error error_of(Client::Code code, int system = 0);
inline std::unexpected<Client::Error> failed(Client::Code code) {
  return std::unexpected(error_of(code));
}

class Pipeline {
 public:
  Pipeline(Socket socket, const Client::Options& options);

  void grant(std::uint32_t frames, std::uint32_t bytes);
  void use_checksum(bool on) { checksum_ = on; }

  // would_block, broken, or no value if a request can begin.
  std::optional<Client::Error> obstacle() const;
  std::string& begin(BinaryOp op, std::uint32_t queue);
  // Discards the begun frame when it cannot be sent.
  std::expected<Client::Ticket, Client::Error> finish();
  void abandon();

  // Sends, and waits at most `timeout` for the first response. Appends responses to `answers`;
  // their payloads are valid until the next turn. After a failure: one error response for each
  // ticket, then none.
  void turn(std::vector<Answer>& answers, std::chrono::microseconds timeout);
  void flush();

  std::size_t outstanding() const { return outstanding_; }
  const std::optional<Client::Error>& failure() const { return failure_; }
  int descriptor() const { return socket_.descriptor(); }
  void watched_by(int epoll) { socket_.watched_by(epoll); }
  bool unsent() const { return socket_.unsent(); }
  short events() const;                                // of poll(2), to wait for
  std::size_t slots() const { return slots_.size(); }  // requests that may be in flight
  // The longest frame that finish() accepts now, in bytes.
  std::size_t credit_bytes() const;
  void fail(Client::Error error);

 private:
  struct Slot {
    std::uint32_t bytes = 0;  // 0: free
    std::uint16_t uses = 0;
    BinaryOp op{};
  };

  void wait(std::vector<Answer>& answers, std::chrono::microseconds timeout);
  bool take(std::vector<Answer>& answers);
  bool take_frame(const FrameHeader& header, std::string_view frame, std::vector<Answer>& answers);
  void break_all(std::vector<Answer>& answers);

  Socket socket_;
  std::chrono::microseconds spin_;
  bool checksum_ = false;
  std::optional<Client::Error> failure_;

  std::vector<Slot> slots_;
  std::vector<std::uint16_t> free_;
  std::size_t outstanding_ = 0;
  std::uint64_t bytes_ = 0;  // bytes of outstanding frames
  std::uint32_t bytes_max_ = 0;

  std::size_t frame_begin_ = 0;                  // start of the frame being built, in out()
  std::size_t next_bytes_ = frame_header_bytes;  // length of the arriving frame
  std::size_t consumed_ = 0;  // bytes returned by the last turn; the next turn drops them
};

}  // namespace pawl::client
