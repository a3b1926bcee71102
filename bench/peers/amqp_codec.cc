// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "bench/peers/peer_codec.h"
#include "bench/peers/wire.h"

// A quorum queue of RabbitMQ over AMQP 0-9-1: persistent publishes with confirms, one consumer a
// connection with `depth` unacknowledged deliveries, acknowledgements, which have no response.
// A receive takes the next delivery; without one it waits for ever, so that the receive workload
// does not end by itself.

namespace pawl::load {
namespace {

constexpr std::size_t frame_head = 7;                              // type, channel, size
constexpr std::size_t confirm_bytes = frame_head + 4 + 8 + 1 + 1;  // method, tag, bits, end
constexpr char frame_end = '\xCE';
constexpr std::uint32_t body_max = 128 << 10;  // RabbitMQ's frames have 128 KiB

enum FrameType : char { method_frame = 1, header_frame = 2, body_frame = 3 };

// Class and method in one number.
constexpr std::uint32_t method(std::uint16_t kind, std::uint16_t number) {
  return std::uint32_t{kind} << 16 | number;
}
constexpr std::uint32_t basic_publish = method(60, 40), basic_deliver = method(60, 60),
                        basic_ack = method(60, 80), basic_nack = method(60, 120),
                        basic_consume = method(60, 20), channel_close = method(20, 40),
                        connection_close = method(10, 50);

void put_short_text(std::string& out, std::string_view text) {
  out.append(1, static_cast<char>(text.size())).append(text);
}
void put_long_text(std::string& out, std::string_view text) {
  put_big(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

// Appends a frame; its size is known at finish().
class Frame {
 public:
  Frame(std::string& out, FrameType type, std::uint16_t channel) : out_(out) {
    out.append(1, type);
    put_big(out, channel);
    begin_ = out.size();
    put_big(out, std::uint32_t{0});
  }
  void finish() {
    patch_big(out_, begin_, static_cast<std::uint32_t>(out_.size() - begin_ - 4));
    out_ += frame_end;
  }

 private:
  std::string& out_;
  std::size_t begin_ = 0;
};

std::string call(std::uint16_t channel, std::uint32_t what, std::string_view arguments) {
  std::string out;
  Frame frame(out, method_frame, channel);
  put_big(out, what);
  out.append(arguments);
  frame.finish();
  return out;
}

// Bytes of the frame at the front; 0: incomplete.
std::size_t frame_bytes(std::string_view bytes) {
  if (bytes.size() < frame_head) return 0;
  const std::size_t whole = frame_head + big_at<std::uint32_t>(bytes, 3) + 1;
  return bytes.size() < whole ? 0 : whole;
}

class AmqpCodec : public PeerCodec {
 public:
  AmqpCodec(const LoadOptions& options, const Target& target)
      : PeerCodec(options), queue_(target.queue) {}

  std::string prepare(Channel& channel, bool) override {
    if (options_.body > body_max - 8) return "--body must be at most 131064 for amqp";
    std::string fault = open(channel);
    if (fault.empty()) fault = declare(channel);
    build();
    return fault;
  }

  bool confirms_deletes() const override { return false; }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    out += publish_;
    Frame frame(out, body_frame, 1);
    append_body(out, mark.stamp, mark.sequence);
    frame.finish();
    unconfirmed_[++published_] = slot;
  }

  void append_receive(std::string& out, std::uint32_t slot, bool) override {
    if (!consumes_) out += consume_;
    consumes_ = true;
    waiting_slots_.push_back(slot);
  }

  void append_delete(std::string& out, std::uint32_t, const Delivered* first,
                     std::uint32_t count) override {
    CHECK(count == 1, "{} messages of a delivery", count);
    std::string arguments(first->receipt);
    arguments += '\0';  // not for earlier deliveries
    out += call(1, basic_ack, arguments);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (const std::size_t size = frame_bytes(bytes.substr(taken))) {
      const std::string_view rest = bytes.substr(taken);
      const std::uint32_t what =
          rest[0] == method_frame ? big_at<std::uint32_t>(rest, frame_head) : 0;
      if (what == channel_close || what == connection_close) return broken;
      std::size_t more = 0;
      if (what == basic_deliver) {
        more = content_bytes(rest.substr(size));
        if (more == 0) break;
        if (!deliver(rest.substr(0, size), rest.substr(size), replies, delivered)) return broken;
      } else if (what == basic_ack || what == basic_nack) {
        if (size < confirm_bytes) return broken;
        confirm(big_at<std::uint64_t>(rest, frame_head + 4), rest[frame_head + 12] & 1,
                what == basic_ack, replies);
      }
      taken += size + more;
    }
    return taken;
  }

 private:
  // Sends a call and waits for one frame with that method.
  static std::string demand(Channel& channel, std::string_view bytes, std::uint32_t expected) {
    std::string answer;
    std::string fault = ask(channel, bytes, frame_bytes, answer);
    if (fault.empty() && big_at<std::uint32_t>(answer, frame_head) != expected)
      fault = "RabbitMQ refused: " + answer.substr(frame_head + 4);
    return fault;
  }

  static std::string open(Channel& channel) {
    using namespace std::string_view_literals;
    std::string start;
    put_big(start, std::uint32_t{0});  // no properties
    put_short_text(start, "PLAIN");
    put_long_text(start, "\0guest\0guest"sv);
    put_short_text(start, "en_US");
    std::string tune, vhost;
    put_big(tune, std::uint16_t{1});  // channels
    put_big(tune, body_max);
    put_big(tune, std::uint16_t{0});  // no heartbeats
    put_short_text(vhost, "/");
    vhost.append(2, '\0');
    std::string fault = demand(channel, "AMQP\0\0\x09\x01"sv, method(10, 10));
    if (fault.empty()) fault = demand(channel, call(0, method(10, 11), start), method(10, 30));
    if (fault.empty())
      fault = demand(channel, call(0, method(10, 31), tune) + call(0, method(10, 40), vhost),
                     method(10, 41));
    if (fault.empty())
      fault = demand(channel, call(1, method(20, 10), std::string(1, '\0')), method(20, 11));
    return fault;
  }

  std::string declare(Channel& channel) const {
    std::string queue, table, quality;
    put_short_text(table, "x-queue-type");
    table += 'S';
    put_long_text(table, "quorum");
    put_big(queue, std::uint16_t{0});
    put_short_text(queue, queue_);
    queue += '\x02';  // durable
    put_long_text(queue, table);
    put_big(quality, std::uint32_t{0});
    put_big(quality, static_cast<std::uint16_t>(options_.depth));
    quality += '\0';
    std::string fault = demand(channel, call(1, method(50, 10), queue), method(50, 11));
    if (fault.empty())
      fault = demand(channel, call(1, method(85, 10), std::string(1, '\0')), method(85, 11));
    if (fault.empty()) fault = demand(channel, call(1, method(60, 10), quality), method(60, 11));
    return fault;
  }

  void build() {
    std::string arguments;
    put_big(arguments, std::uint16_t{0});
    put_short_text(arguments, "");
    put_short_text(arguments, queue_);
    arguments += '\0';
    publish_ = call(1, basic_publish, arguments);
    Frame header(publish_, header_frame, 1);
    put_big(publish_, std::uint16_t{60});
    put_big(publish_, std::uint16_t{0});
    put_big(publish_, std::uint64_t{options_.body});
    put_big(publish_, std::uint16_t{0x1000});  // one property:
    publish_ += '\x02';                        // persistent
    header.finish();
    arguments.clear();
    put_big(arguments, std::uint16_t{0});
    put_short_text(arguments, queue_);
    put_short_text(arguments, "bench");
    arguments += '\x08';  // no response
    put_big(arguments, std::uint32_t{0});
    consume_ = call(1, basic_consume, arguments);
  }

  // Bytes of the header and body frames of a delivery; 0: incomplete.
  static std::size_t content_bytes(std::string_view bytes) {
    const std::size_t header = frame_bytes(bytes);
    if (header == 0) return 0;
    std::uint64_t left = big_at<std::uint64_t>(bytes, frame_head + 4);
    std::size_t taken = header;
    while (left > 0) {
      const std::size_t size = frame_bytes(bytes.substr(taken));
      if (size == 0) return 0;
      left -= std::min<std::uint64_t>(left, size - frame_head - 1);
      taken += size;
    }
    return taken;
  }

  // False: nobody waits for the delivery, or it has no tag.
  bool deliver(std::string_view method, std::string_view content, std::vector<Reply>& replies,
               std::vector<Delivered>& delivered) {
    const std::size_t header = frame_bytes(content);
    if (waiting_slots_.empty() || method.size() < confirm_bytes) return false;
    const std::size_t tag_at =
        frame_head + 4 + 1 + static_cast<unsigned char>(method[frame_head + 4]);
    if (tag_at + sizeof(std::uint64_t) > method.size()) return false;
    replies.push_back({.slot = waiting_slots_.front(),
                       .good = 1,
                       .first_delivered = static_cast<std::uint32_t>(delivered.size())});
    waiting_slots_.erase(waiting_slots_.begin());
    delivered.push_back(
        delivered_of(method.substr(tag_at, sizeof(std::uint64_t)),
                     content.substr(std::min(header + frame_head, content.size()))));
    return true;
  }

  void confirm(std::uint64_t tag, bool earlier_too, bool good, std::vector<Reply>& replies) {
    auto at = earlier_too ? unconfirmed_.begin() : unconfirmed_.find(tag);
    while (at != unconfirmed_.end() && at->first <= tag) {
      Reply reply{.slot = at->second, .good = good ? 1u : 0u, .failed = good ? 0u : 1u};
      if (!good) reply.reason = "nack";
      replies.push_back(reply);
      at = unconfirmed_.erase(at);
    }
  }

  std::string queue_, publish_, consume_;
  bool consumes_ = false;
  std::uint64_t published_ = 0;
  std::map<std::uint64_t, std::uint32_t> unconfirmed_;  // slots by publish number
  std::vector<std::uint32_t> waiting_slots_;            // oldest first
};

}  // namespace

std::unique_ptr<Codec> make_amqp_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<AmqpCodec>(options, target);
}

}  // namespace pawl::load
