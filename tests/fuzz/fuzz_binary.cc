// SPDX-License-Identifier: Apache-2.0
// The binary protocol, with any frames. Each gets one response frame with its correlation and a
// correct length. Routed requests keep the limits of Request; only bad framing or HELLO closes.
//
// Input: a byte, then requests of | op 1 | bits 1 | length 2 | payload |, framed here so that the
// fuzzer need not guess lengths. An even first byte puts a HELLO and an open queue before them. If
// it is odd, its second bit selects a server that requires keys, which no input can pass.
#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/aws/call_types.h"
#include "proto/aws/message_attributes.h"
#include "proto/binary/session.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

BinarySettings make_config() {
  BinarySettings config;
  config.secret.fill(3);
  config.receive_bytes_max = 4096;
  static const CallSettings api;
  config.api = &api;
  return config;
}

class FuzzedSession {
 public:
  explicit FuzzedSession(bool keyed) : config_(make_config()) {
    if (keyed) {
      const auto ring = std::make_shared<Keyring>();
      CHECK(ring->add({"AKID", "secret", "111111111111"}) == KeyFault::none);
      config_.keys = ring;
    }
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{1};
    queue->account = config_.account;
    queue->name = "q";
    queue->numbers[static_cast<std::size_t>(Attribute::maximum_message_size)] = 1024;
    directory_.put(queue);
  }

  // Returns false if the connection must close.
  bool request(std::uint8_t op, std::uint8_t bits, std::string_view payload) {
    FrameHeader header{.op = op, .flags = bits, .correlation = ++correlation_, .queue = 1};
    header.flags &= static_cast<std::uint8_t>(~flag_checksum);
    if (bits & flag_checksum) header.flags |= flag_checksum;
    std::string frame;
    const std::size_t begin = begin_frame(frame, header);
    frame.append(payload);
    finish_frame(frame, begin);

    BinaryCall& call = calls_.emplace_back();
    BinaryCall::Next next = call.begin(session_, frame, directory_, config_);
    CHECK(config_.keys == nullptr || (!session_.greeted() && next != BinaryCall::Next::route));
    if (call.subscription() != nullptr) {
      CHECK(calls_.size() == session_.subscriptions().size());
      if (push_to(call, header, next)) calls_.pop_back();
      return true;
    }
    next = carry_out(call, next);
    answered(call, header, header.op);
    calls_.pop_back();
    push_to_all();
    return next == BinaryCall::Next::respond;
  }

 private:
  BinaryCall::Next carry_out(BinaryCall& call, BinaryCall::Next next) {
    for (int hops = 0; next == BinaryCall::Next::route; ++hops) {
      const int most = call.op() == BinaryOp::call ? 8 : 2;
      CHECK(hops < most, "a receive, and what it gives back; the slices of a CALL");
      apply(call.request());
      next = call.resume(session_, directory_, config_);
    }
    return next;
  }

  // All subscriptions that have credit get messages once; those that end are answered.
  void push_to_all() {
    for (auto call = calls_.begin(); call != calls_.end();) {
      const FrameHeader request = call->subscription()->request;
      const bool ended = push_to(*call, request, call->push(session_, directory_, config_));
      call = ended ? calls_.erase(call) : std::next(call);
    }
  }

  bool push_to(BinaryCall& call, const FrameHeader& request, BinaryCall::Next next) {
    const Subscription* const subscription = call.subscription();
    const std::uint32_t credit = subscription == nullptr ? 0 : subscription->credit;
    next = carry_out(call, next);
    if (next == BinaryCall::Next::pause) return false;
    if (next == BinaryCall::Next::deliver) {
      CHECK(call.subscription()->credit < credit && credit <= subscription_credit_max);
      answered(call, request, static_cast<std::uint8_t>(BinaryOp::deliver));
      return false;
    }
    CHECK(next == BinaryCall::Next::respond && call.subscription() == nullptr);
    answered(call, request, request.op);
    return true;
  }

  void apply(Request& request) {
    for (SendEntry& entry : request.sends) {
      CHECK(!entry.content.body.empty() && check_text(entry.content.body) == TextFault::none);
      CHECK(entry.content.body.size() + attributes_size(entry.content.attributes) <= 1024);
      CHECK(entry.content.attributes.empty() ||
            check_attributes(entry.content.attributes) == Errc::ok);
      CHECK(entry.content.group.size() <= 128 && entry.content.dedup_id.size() <= 128);
      CHECK(entry.content.origin.empty());
      CHECK(entry.delay == queue_default || (entry.delay.ms >= 0 && entry.delay <= seconds(900)));
      if (request.producer.id != 0)
        CHECK(entry.sequence > 0 && entry.sequence >= request.producer.floor);
      entry.seq = ++seq_;
      if (seq_ % 7 == 0) entry.error = Errc::no_memory;
    }
    for (const ReceiptEntry& entry : request.receipts) {
      CHECK(entry.error != Errc::ok || entry.visibility <= seconds(43'200));
    }
    if (request.op == Op::receive) {
      CHECK(request.receive.max >= 1 && request.receive.max <= request.deliveries.size());
      CHECK(request.receive.wait <= seconds(3600) && request.receive.visibility <= seconds(43'200));
      request.delivered = request.receive.max;
      for (Delivery& delivery : request.deliveries) {
        delivery = Delivery{};
        delivery.seq = ++seq_;
        delivery.content.body = body_;
        if (seq_ % 3 == 0) {
          delivery.content.group = std::string_view(body_).substr(0, 128);
          delivery.content.origin = std::string_view(body_).substr(0, 255);
        }
      }
    }
    if (request.peek != nullptr) {
      request.peek->messages.push_back(
          {.seq = std::max<Seq>(1, request.peek->from), .state = PeekedMessage::State::visible});
      if (request.peek->from == 0) request.peek->next = 2;
    }
    if (request.replay != nullptr) replay(request);
    if (request.op == Op::create_queue) {
      const ConfigPtr* found = directory_.find(request.spec->account, request.spec->name);
      auto config = std::make_shared<QueueConfig>();
      config->id = QueueId{found ? raw((*found)->id) : ++queues_};
      config->account = request.spec->account;
      config->name = request.spec->name;
      for (const AttributeChange& change : request.spec->changes) config->apply(change);
      if (!found) directory_.put(config);
      request.config = config;
    }
  }

  // Keeps the started tasks, so that lists are long and contain any filter.
  void replay(Request& request) {
    ReplayParams& asked = *request.replay;
    asked.tasks = replays_;
    if (request.op != Op::start_replay) return;
    CHECK(asked.rate <= replay_rate_max && asked.filter.size() <= replay_filter_bytes_max);
    CHECK(asked.from.ms >= 0 && (asked.to.ms == 0 || asked.to > asked.from));
    const QueueName to = QueueName::from_text(asked.destination);
    CHECK(directory_.find(to.account, to.name) != nullptr);
    asked.number = ++replay_;
    if (replays_.size() == replays_kept) replays_.clear();
    replays_.push_back({.number = replay_,
                        .destination = std::string(asked.destination),
                        .filter = std::string(asked.filter)});
  }

  void answered(BinaryCall& call, const FrameHeader& request, std::uint8_t op) {
    out_.clear();
    call.write_response(out_);
    const auto header = parse_header(out_);
    CHECK(header && header->length == out_.size());
    CHECK(header->correlation == request.correlation && header->op == op);
    const auto payload = payload_of(*header, out_);
    CHECK(payload.has_value());
    CHECK(header->status == 0 || payload->size() == 8);
    CHECK(name_of(static_cast<Status>(header->status)) != "unknown");
  }

  BinarySettings config_;
  Directory directory_;
  BinarySession session_;
  std::list<BinaryCall> calls_;  // of subscriptions, and the present one
  std::string out_;
  std::string body_ = std::string(500, 'b');
  std::uint32_t correlation_ = 0;
  std::uint32_t queues_ = 1;
  std::uint32_t replay_ = 0;
  std::vector<ReplayTask> replays_;
  Seq seq_ = 0;
};

// Reads a stream as net/ does: frame by frame, by the length in each header.
void read_stream(std::string_view bytes) {
  Directory directory;
  BinarySession session;
  BinaryCall call;
  const BinarySettings config = make_config();
  std::string out;
  while (bytes.size() >= frame_header_bytes) {
    const auto header = parse_header(bytes);
    if (!header || bytes.size() < header->length) return;
    if (call.begin(session, bytes.substr(0, header->length), directory, config) ==
        BinaryCall::Next::close)
      return;
    call.write_response(out);
    bytes.remove_prefix(header->length);
  }
}

std::string greeting() {
  std::string payload;
  put(payload, binary_magic);
  put(payload, binary_major);
  put(payload, binary_minor);
  put(payload, features_known);
  put(payload, std::uint8_t{0});
  put_short(payload, "fuzz");
  return payload;
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pawl;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_stream(bytes);
  BinaryReader in(bytes);
  const auto first = in.take<std::uint8_t>();
  FuzzedSession world(first % 4 == 3);
  if (first % 2 == 0) {
    CHECK(world.request(static_cast<std::uint8_t>(BinaryOp::hello), 0, greeting()));
    CHECK(world.request(static_cast<std::uint8_t>(BinaryOp::open_queue), 0,
                        std::string_view("\0\0\1\0q", 5)));
  }
  while (in.left() > 0) {
    const auto op = in.take<std::uint8_t>();
    const auto bits = in.take<std::uint8_t>();
    if (!world.request(op, bits, in.take_short())) break;
  }
  return 0;
}
