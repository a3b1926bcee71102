// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "bench/load_channel.h"
#include "bench/load_codec.h"
#include "core/base/check.h"
#include "net/client/answers.h"
#include "proto/auth/challenge.h"
#include "proto/binary/frames.h"

// The codec of the binary protocol. It uses prepared frames; the correlation is the slot.

namespace pawl::load {
namespace {

constexpr std::uint32_t wait_ms = 1000;
constexpr std::uint32_t subscription = Reply::pushed;  // correlation of SUBSCRIBE
constexpr std::size_t correlation_at = 8;
constexpr std::size_t producer_bytes = 3 * 8;  // of a SEND_ONCE: producer, first, floor
constexpr std::size_t first_at = frame_header_bytes + 8;
constexpr std::size_t receipt_bytes = 24;
constexpr std::size_t sent_bytes = 2 + 8 + 16;
constexpr std::size_t delivered_fixed = 16 + 8 + 8 + 8 + 4;  // between the receipt and the head

template <typename T>
void patch(std::string& out, std::size_t at, T value) {
  CHECK(at + sizeof value <= out.size(), "a value at {} of {} bytes", at, out.size());
  std::memcpy(out.data() + at, &value, sizeof value);
}

class BinaryCodec : public Codec {
 public:
  BinaryCodec(const LoadOptions& options, const Target& target)
      : options_(options), queue_name_(target.queue) {}

  std::string prepare(Channel& channel, bool create) override {
    std::string payload;
    put(payload, binary_magic);
    put(payload, binary_major);
    put(payload, binary_minor);
    put(payload, std::uint32_t{0});
    put(payload, options_.key_id.empty() ? auth_none : auth_key);
    put_short(payload, "pawl bench");
    put_short(payload, "");  // the server's account
    put_short(payload, queue_name_);
    std::string fault = ask(channel, BinaryOp::hello, payload);
    if (fault.empty()) fault = authenticate(channel);
    if (!fault.empty()) return fault;
    if (!create || options_.cleanup) fault = open_queue(channel);
    if (create && (!options_.cleanup || status_ == Status::no_such_queue))
      fault = create_queue(channel);
    if (fault.empty()) build();
    return fault;
  }

  bool created() const override { return created_; }

  std::string delete_queue(Channel& channel) override {
    return ask(channel, BinaryOp::delete_queue, {}, queue_);
  }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    const std::size_t begin = out.size();
    out.append(send_);
    patch(out, begin + correlation_at, slot);
    if (options_.once) number(out, begin, slot, mark.sequence);
    for (std::size_t i = 0; i < stamps_.size(); ++i) {
      char* const at = out.data() + begin + stamps_[i];
      write_stamp(at, mark.stamp);
      if (options_.verify) write_stamp(at + stamp_bytes, mark.sequence + i);
    }
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    const std::size_t begin = out.size();
    out.append(receive_);
    patch(out, begin + correlation_at, slot);
    patch(out, begin + frame_header_bytes + 4, wait ? wait_ms : 0);
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    const std::size_t begin =
        begin_frame(out, {.op = static_cast<std::uint8_t>(BinaryOp::delete_message),
                          .correlation = slot,
                          .queue = queue_});
    put(out, count);
    for (std::uint32_t i = 0; i < count; ++i) out.append(first[i].receipt);
    finish_frame(out, begin);
  }

  void append_subscribe(std::string& out, std::uint32_t credit) override {
    const std::size_t begin =
        begin_frame(out, {.op = static_cast<std::uint8_t>(BinaryOp::subscribe),
                          .correlation = subscription,
                          .queue = queue_});
    put_all(out, credit, binary_queue_default, std::uint32_t{0});
    finish_frame(out, begin);
  }

  void append_acknowledge(std::string& out, const Delivered* first, std::uint32_t count) override {
    const std::size_t begin =
        begin_frame(out, {.op = static_cast<std::uint8_t>(BinaryOp::acknowledge),
                          .correlation = Reply::acknowledged,
                          .queue = queue_});
    put_all(out, subscription, count, count);
    for (std::uint32_t i = 0; i < count; ++i) out.append(first[i].receipt);
    finish_frame(out, begin);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (bytes.size() - taken >= frame_header_bytes) {
      const std::string_view rest = bytes.substr(taken);
      const auto header = parse_header(rest);
      if (!header) return broken;
      if (rest.size() < header->length) break;
      const std::string_view payload =
          rest.substr(frame_header_bytes, header->length - frame_header_bytes);
      Reply reply{.slot = header->correlation,
                  .first_delivered = static_cast<std::uint32_t>(delivered.size()),
                  .reason = {}};
      if (header->status != 0) {
        reply.failed = 1;
        reply.reason = name_of(static_cast<Status>(header->status));
      } else if (!read(static_cast<BinaryOp>(header->op), payload, reply, delivered)) {
        return broken;
      }
      if (header->op == static_cast<std::uint8_t>(BinaryOp::send_once)) settle(header->correlation);
      replies.push_back(reply);
      taken += header->length;
    }
    return taken;
  }

 private:
  std::string open_queue(Channel& channel) {
    std::string payload;
    put_short(payload, "");  // account
    put_short(payload, queue_name_);
    return ask(channel, BinaryOp::open_queue, payload);
  }

  std::string create_queue(Channel& channel) {
    std::string payload;
    put_short(payload, queue_name_);
    payload.append(4, '\0');  // no attributes, no tags
    std::string fault = ask(channel, BinaryOp::create_queue, payload);
    created_ = fault.empty();
    return fault;
  }

  // Answers the challenge in the response to HELLO, if there is one.
  std::string authenticate(Channel& channel) {
    Client::Server server;
    std::uint32_t features = 0;
    std::string_view asked;
    if (!client::take_server(answer_, server, features, asked))
      return "the server's greeting is invalid";
    if (asked.empty()) return {};  // the server requires no key
    Challenge challenge{};
    if (asked.size() != challenge.size()) return "the server's authentication challenge is invalid";
    std::ranges::copy(asked, challenge.begin());
    const Sha256 proof = prove(options_.secret, options_.key_id, challenge);
    std::string payload;
    put_short(payload, options_.key_id);
    payload.append(proof.begin(), proof.end());
    return ask(channel, BinaryOp::authenticate, payload);
  }

  // Sends one request and reads its response, outside the load.
  std::string ask(Channel& channel, BinaryOp op, std::string_view payload,
                  std::uint32_t queue = 0) {
    std::string bytes;
    const std::size_t begin =
        begin_frame(bytes, {.op = static_cast<std::uint8_t>(op), .queue = queue});
    bytes.append(payload);
    finish_frame(bytes, begin);
    if (!channel.send_all(bytes)) return "the connection broke during the greeting";
    bytes.clear();
    while (true) {
      if (!channel.receive_some(bytes)) return "the server did not respond to the greeting";
      if (bytes.size() < frame_header_bytes) continue;
      const auto header = parse_header(bytes);
      if (!header) return "the server does not speak the binary protocol";
      if (bytes.size() < header->length) continue;
      queue_ = header->queue;
      const auto status = static_cast<Status>(header->status);
      status_ = status;
      if (status == Status::ok) {
        answer_ = bytes.substr(frame_header_bytes, header->length - frame_header_bytes);
        return {};
      }
      if (status == Status::unauthorized)
        return options_.key_id.empty()
                   ? "the server requires an access key; set AWS_ACCESS_KEY_ID and "
                     "AWS_SECRET_ACCESS_KEY"
                   : "the server does not know the access key of AWS_ACCESS_KEY_ID, or "
                     "AWS_SECRET_ACCESS_KEY is not its secret";
      if (status == Status::no_such_queue)
        return "there is no queue " + queue_name_ + "; --create creates it";
      return "the server refused: " + std::string(name_of(status));
    }
  }

  // Writes the numbers of a SEND_ONCE. The floor is the oldest batch without a response.
  void number(std::string& out, std::size_t begin, std::uint32_t slot, std::uint64_t first) {
    CHECK(slot < unanswered_.size(), "slot {} of {}", slot, unanswered_.size());
    unanswered_[slot] = first;
    patch(out, begin + first_at, first);
    patch(out, begin + first_at + sizeof first, std::ranges::min(unanswered_));
  }

  void settle(std::uint32_t slot) {
    if (slot < unanswered_.size()) unanswered_[slot] = UINT64_MAX;
  }

  void build() {
    const std::string body = make_body(options_.body);
    const BinaryOp op = options_.once ? BinaryOp::send_once : BinaryOp::send;
    unanswered_.assign(options_.depth, UINT64_MAX);
    send_.clear();
    stamps_.clear();
    begin_frame(send_, {.op = static_cast<std::uint8_t>(op), .queue = queue_});
    if (options_.once)
      put_all(send_, Client::random_producer(), std::uint64_t{0}, std::uint64_t{0});
    put(send_, options_.batch);
    for (std::uint32_t i = 0; i < options_.batch; ++i) {
      put(send_, options_.body);
      if (options_.body >= stamp_bytes) stamps_.push_back(send_.size());
      send_.append(body);
    }
    finish_frame(send_, 0);
    const std::size_t size = frame_header_bytes + (options_.once ? producer_bytes : 0) + 4 +
                             options_.batch * (4 + body.size());
    CHECK(send_.size() == size, "a send of {} bytes instead of {}", send_.size(), size);
    receive_.clear();
    begin_frame(receive_, {.op = static_cast<std::uint8_t>(BinaryOp::receive), .queue = queue_});
    put(receive_, options_.batch);
    put(receive_, std::uint32_t{0});
    put(receive_, binary_queue_default);
    put(receive_, std::uint32_t{0});
    finish_frame(receive_, 0);
    CHECK(receive_.size() == frame_header_bytes + 16, "a receive of {} bytes", receive_.size());
  }

  bool read(BinaryOp op, std::string_view payload, Reply& reply,
            std::vector<Delivered>& delivered) const {
    if (op == BinaryOp::receive || op == BinaryOp::deliver)
      return read_deliveries(payload, reply, delivered);
    BinaryReader in(payload);
    const auto count = in.take<std::uint32_t>();
    const bool sent = op == BinaryOp::send || op == BinaryOp::send_once;
    const std::size_t stride = sent ? sent_bytes : 2;
    if (in.left() != count * stride) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint16_t status = 0;
      std::memcpy(&status, payload.data() + 4 + i * stride, sizeof status);
      ++(status == 0 ? reply.good : reply.failed);
      if (status != 0) reply.reason = name_of(static_cast<Status>(status));
    }
    return true;
  }

  bool read_deliveries(std::string_view payload, Reply& reply,
                       std::vector<Delivered>& delivered) const {
    BinaryReader in(payload);
    reply.good = in.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < reply.good && in.ok(); ++i) {
      Delivered one{.receipt = in.take_bytes(receipt_bytes)};
      in.take_bytes(delivered_fixed);
      const auto head = in.take<std::uint32_t>();
      const std::uint32_t attributes = head & entry_has_attributes ? in.take<std::uint32_t>() : 0;
      const std::uint32_t system = head & entry_has_system ? in.take<std::uint32_t>() : 0;
      const std::string_view body = in.take_bytes(head & entry_body_mask);
      one.stamp = read_stamp(body);
      one.sequence = read_sequence(body);
      in.take_bytes(std::size_t{attributes} + system);
      delivered.push_back(one);
    }
    return in.finished();
  }

  const LoadOptions& options_;
  std::string queue_name_;
  std::uint32_t queue_ = 0;
  bool created_ = false;
  std::string answer_;          // the response in ask()
  Status status_ = Status::ok;  // its status
  std::string send_, receive_;
  std::vector<std::size_t> stamps_;        // positions in send_
  std::vector<std::uint64_t> unanswered_;  // first number in each slot; UINT64_MAX: none
};

}  // namespace

std::unique_ptr<Codec> make_binary_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<BinaryCodec>(options, target);
}

}  // namespace pawl::load
