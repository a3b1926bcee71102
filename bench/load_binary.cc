// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "bench/load_channel.h"
#include "bench/load_codec.h"
#include "core/base/check.h"
#include "net/client/answers.h"
#include "proto/auth/challenge.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

// The codec of the binary protocol. The messages of a send are prepared; the slot is the
// correlation.

namespace pawl::load {
namespace {

constexpr std::uint32_t wait_ms = 1000;
constexpr std::uint32_t subscription = Reply::pushed;  // correlation of SUBSCRIBE

void append_frame(std::string& out, BinaryOp op, std::uint32_t correlation, std::uint32_t queue,
                  auto&& put_payload) {
  const std::size_t begin = begin_frame(
      out, {.op = static_cast<std::uint8_t>(op), .correlation = correlation, .queue = queue});
  put_payload();
  finish_frame(out, begin);
}

void put_receipts(std::string& out, const Delivered* first, std::uint32_t count) {
  put_count<payload::Deletion>(out, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    CHECK(first[i].receipt.size() == struct_bytes<payload::Deletion>, "a receipt of {} bytes",
          first[i].receipt.size());
    out.append(first[i].receipt);
  }
}

class BinaryCodec : public Codec {
 public:
  BinaryCodec(const LoadOptions& options, const Target& target)
      : options_(options), queue_name_(target.queue) {}

  std::string prepare(Channel& channel, bool create) override {
    std::string payload;
    put_struct(payload, payload::Hello{.auth = options_.key_id.empty() ? auth_none : auth_key,
                                       .client = "pawl bench"});
    put_struct(payload, payload::QueueAddress{.account = {}, .name = queue_name_});
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
    append_frame(out, options_.once ? BinaryOp::send_once : BinaryOp::send, slot, queue_, [&] {
      if (options_.once) put_struct(out, number(slot, mark.sequence));
      const std::size_t begin = out.size();
      out.append(messages_);
      for (std::size_t i = 0; i < stamps_.size(); ++i) {
        char* const at = out.data() + begin + stamps_[i];
        write_stamp(at, mark.stamp);
        if (options_.verify) write_stamp(at + stamp_bytes, mark.sequence + i);
      }
    });
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    append_frame(out, BinaryOp::receive, slot, queue_, [&] {
      put_struct(out, payload::Receive{.max = options_.batch, .wait_ms = wait ? wait_ms : 0});
    });
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    append_frame(out, BinaryOp::delete_message, slot, queue_,
                 [&] { put_receipts(out, first, count); });
  }

  void append_subscribe(std::string& out, std::uint32_t credit) override {
    append_frame(out, BinaryOp::subscribe, subscription, queue_,
                 [&] { put_struct(out, payload::Subscribe{.credit = credit}); });
  }

  void append_acknowledge(std::string& out, const Delivered* first, std::uint32_t count) override {
    append_frame(out, BinaryOp::acknowledge, Reply::acknowledged, queue_, [&] {
      put_struct(out, payload::Grant{subscription, count});
      put_receipts(out, first, count);
    });
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
    put_struct(payload, payload::QueueAddress{.account = {}, .name = queue_name_});
    return ask(channel, BinaryOp::open_queue, payload);
  }

  std::string create_queue(Channel& channel) {
    std::string payload;
    put_struct(payload, payload::Name{queue_name_});
    put_count<payload::QueueAttribute>(payload, 0);
    put_count<payload::Tag>(payload, 0);
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
    put_struct(payload, payload::Authenticate{options_.key_id, proof});
    return ask(channel, BinaryOp::authenticate, payload);
  }

  // Sends one request and reads its response, outside the load.
  std::string ask(Channel& channel, BinaryOp op, std::string_view payload,
                  std::uint32_t queue = 0) {
    std::string bytes;
    append_frame(bytes, op, 0, queue, [&] { bytes.append(payload); });
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

  // The numbers of a SEND_ONCE. The floor is the oldest batch without a response.
  payload::Producer number(std::uint32_t slot, std::uint64_t first) {
    CHECK(slot < unanswered_.size(), "slot {} of {}", slot, unanswered_.size());
    unanswered_[slot] = first;
    return {.id = producer_, .first = first, .floor = std::ranges::min(unanswered_)};
  }

  void settle(std::uint32_t slot) {
    if (slot < unanswered_.size()) unanswered_[slot] = UINT64_MAX;
  }

  void build() {
    const std::string body = make_body(options_.body);
    unanswered_.assign(options_.depth, UINT64_MAX);
    messages_.clear();
    stamps_.clear();
    put_count<payload::MessageWords>(messages_, options_.batch);
    for (std::uint32_t i = 0; i < options_.batch; ++i) {
      payload::put_message(messages_, {.body = body});
      if (options_.body >= stamp_bytes) stamps_.push_back(messages_.size() - body.size());
    }
    CHECK(messages_.size() > options_.batch * body.size(), "{} bytes of {} messages",
          messages_.size(), options_.batch);
  }

  bool read(BinaryOp op, std::string_view payload, Reply& reply,
            std::vector<Delivered>& delivered) const {
    if (op == BinaryOp::receive || op == BinaryOp::deliver)
      return read_deliveries(payload, reply, delivered);
    BinaryReader in(payload);
    const auto add = [&reply](std::uint16_t status) {
      ++(status == 0 ? reply.good : reply.failed);
      if (status != 0) reply.reason = name_of(static_cast<Status>(status));
    };
    if (op == BinaryOp::send || op == BinaryOp::send_once) {
      take_rows<payload::Sent>(in, [&](const payload::Sent& row) { add(row.status); });
    } else {
      take_rows<payload::EntryStatus>(in,
                                      [&](const payload::EntryStatus& row) { add(row.status); });
    }
    return in.finished();
  }

  bool read_deliveries(std::string_view payload, Reply& reply,
                       std::vector<Delivered>& delivered) const {
    BinaryReader in(payload);
    const std::string_view rows =
        payload.substr(std::min(payload.size(), sizeof(payload::Delivery::Count)));
    std::size_t at = 0;
    take_rows<payload::Delivery>(in, [&](const payload::Delivery& row) {
      const auto texts = payload::take_texts(in, payload::take_lengths(in, row.head));
      ++reply.good;
      delivered.push_back({.receipt = rows.substr(at, row.receipt.size()),
                           .stamp = read_stamp(texts.body),
                           .sequence = read_sequence(texts.body)});
      at = rows.size() - in.left();
    });
    return in.finished();
  }

  const LoadOptions& options_;
  std::string queue_name_;
  std::uint32_t queue_ = 0;
  bool created_ = false;
  std::string answer_;          // the response in ask()
  Status status_ = Status::ok;  // its status
  std::uint64_t producer_ = Client::random_producer();
  std::string messages_;                   // of a send
  std::vector<std::size_t> stamps_;        // positions in messages_
  std::vector<std::uint64_t> unanswered_;  // first number in each slot; UINT64_MAX: none
};

}  // namespace

std::unique_ptr<Codec> make_binary_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<BinaryCodec>(options, target);
}

}  // namespace pawl::load
