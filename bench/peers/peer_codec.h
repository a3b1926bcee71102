// SPDX-License-Identifier: Apache-2.0
// The common part of the codecs of other brokers: greetings, and requests that are answered in
// order.
//
// Limits: options.depth requests in flight.
// Errors: readable texts.
// Owner:  one load connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load_channel.h"
#include "bench/load_codec.h"
#include "core/base/check.h"

namespace pawl::load {

inline constexpr std::string_view crlf =
    "\r\n";  // ends a line of the NATS and beanstalkd protocols

class PeerCodec : public Codec {
 public:
  bool created() const override { return false; }
  std::string delete_queue(Channel&) override { return "this codec deletes no queue"; }

 protected:
  enum class Kind : std::uint8_t { send, receive, delete_message };
  struct Request {
    std::uint32_t slot = 0;
    Kind kind{};
    std::uint32_t answers = 1;  // still to come
    Reply reply{};              // of the answers so far
  };

  explicit PeerCodec(const LoadOptions& options) : options_(options), requests_(options.depth) {}

  // A body with its stamp and sequence number.
  void append_body(std::string& out, std::uint64_t stamp, std::uint64_t sequence) const {
    const std::size_t at = out.size();
    out += body_;
    if (body_.size() >= stamp_bytes) write_stamp(out.data() + at, stamp);
    if (options_.verify) write_stamp(out.data() + at + stamp_bytes, sequence);
  }
  static Delivered delivered_of(std::string_view receipt, std::string_view body) {
    return {receipt, read_stamp(body), read_sequence(body)};
  }

  // Sends `bytes` and reads until `take` returns the length of the complete answer; 0: incomplete.
  // Empty: success.
  static std::string ask(Channel& channel, std::string_view bytes,
                         const std::function<std::size_t(std::string_view)>& take,
                         std::string& answer) {
    if (!channel.send_all(bytes)) return "the connection broke during the greeting";
    answer.clear();
    while (take(answer) == 0) {
      if (!channel.receive_some(answer)) return "the server did not respond to the greeting";
    }
    return {};
  }

  void push(std::uint32_t slot, Kind kind, std::uint32_t answers) {
    CHECK(waiting_ < requests_.size(), "more than {} requests in flight", requests_.size());
    requests_[(first_ + waiting_++) % requests_.size()] = {slot, kind, answers, {.slot = slot}};
  }
  bool idle() const { return waiting_ == 0; }
  Request& oldest() {
    CHECK(waiting_ > 0, "a response without a request");
    return requests_[first_];
  }
  // Counts an answer of the oldest request; reports it when it was the last one.
  void count_answer(std::vector<Reply>& replies) {
    Request& request = oldest();
    if (--request.answers > 0) return;
    replies.push_back(request.reply);
    first_ = (first_ + 1) % requests_.size();
    --waiting_;
  }

  const LoadOptions& options_;

 private:
  const std::string body_ = make_body(options_.body);
  std::vector<Request> requests_;  // ring, oldest first
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
};

std::unique_ptr<Codec> make_redis_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_beanstalk_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_nats_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_postgres_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_amqp_codec(const LoadOptions& options, const Target& target);
// Bytes that come back: the loopback round trip.
std::unique_ptr<Codec> make_echo_codec(const LoadOptions& options, const Target& target);

// Parses "scheme://host:port/queue" of one of these. Returns an error text; empty: success.
std::string parse_peer_url(const std::string& url, Target& target);

}  // namespace pawl::load
