// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>

#include "bench/peers/peer_codec.h"

// A NATS JetStream work queue: publishes with their acknowledgement, pulls of one message from a
// durable consumer, acknowledgements with a reply. Each slot has an inbox and a subscription of its
// own, with the number slot + 1.

namespace pawl::load {
namespace {

// A line of the server, and the payload after it.
struct Message {
  std::size_t bytes = 0;  // 0: incomplete
  std::string_view line;
  std::vector<std::string_view> words;
  std::string_view payload;  // with its headers
};

std::size_t number_of(std::string_view word) {
  std::size_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

Message read_message(std::string_view bytes) {
  Message message;
  const std::size_t end = bytes.find(crlf);
  if (end == bytes.npos) return message;
  message.line = bytes.substr(0, end);
  std::size_t total = end + crlf.size();
  if (message.line.starts_with("MSG ") || message.line.starts_with("HMSG ")) {
    for (std::string_view rest = message.line; !rest.empty();) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      message.words.push_back(rest.substr(0, blank));
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    const std::size_t size = number_of(message.words.back());
    if (bytes.size() < total + size + crlf.size()) return message;
    message.payload = bytes.substr(total, size);
    total += size + crlf.size();
  }
  message.bytes = total;
  return message;
}

class NatsCodec : public PeerCodec {
 public:
  NatsCodec(const LoadOptions& options, const Target& target)
      : PeerCodec(options), stream_(target.queue), kinds_(options.depth), busy_(options.depth) {
    static std::atomic<unsigned> connections = 0;
    inbox_ = "_INBOX.b" + std::to_string(::getpid()) + "x" + std::to_string(++connections) + ".";
    next_ = "$JS.API.CONSUMER.MSG.NEXT." + stream_ + ".worker ";
  }

  std::string prepare(Channel& channel, bool create) override {
    std::string bytes =
        "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,"
        "\"lang\":\"c++\",\"version\":\"1\",\"protocol\":1}\r\n";
    for (std::uint32_t slot = 0; slot < options_.depth; ++slot)
      bytes += "SUB " + inbox_ + std::to_string(slot) + " " + std::to_string(slot + 1) + "\r\n";
    std::string answer;
    std::string fault = ask(channel, bytes + "PING\r\n", ends_with_pong, answer);
    if (!fault.empty() || !create) return fault;
    fault = request(channel, "$JS.API.STREAM.CREATE." + stream_,
                    "{\"name\":\"" + stream_ + "\",\"subjects\":[\"" + stream_ +
                        ".q\"],\"retention\":\"workqueue\",\"storage\":\"file\"}");
    if (!fault.empty()) return fault;
    return request(
        channel, "$JS.API.CONSUMER.DURABLE.CREATE." + stream_ + ".worker",
        "{\"stream_name\":\"" + stream_ +
            "\",\"config\":{\"durable_name\":\"worker\",\"ack_policy\":\"explicit\","
            "\"ack_wait\":60000000000,\"max_ack_pending\":100000,\"max_waiting\":4096}}");
  }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    begin(out, slot, Kind::send, stream_ + ".q ", options_.body);
    append_body(out, mark.stamp, mark.sequence);
    out += crlf;
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    const std::string_view text =
        wait ? "{\"batch\":1,\"expires\":1000000000}" : "{\"batch\":1,\"no_wait\":true}";
    begin(out, slot, Kind::receive, next_, text.size());
    out.append(text).append(crlf);
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    CHECK(count == 1, "{} messages of a pull", count);
    constexpr std::string_view text = "+ACK";
    begin(out, slot, Kind::delete_message, std::string(first->receipt) + " ", text.size());
    out.append(text).append(crlf);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      const Message message = read_message(bytes.substr(taken));
      if (message.bytes == 0) break;
      if (message.line.starts_with("-ERR")) return broken;
      if (!message.words.empty() && !take(message, replies, delivered)) return broken;
      taken += message.bytes;
    }
    return taken;
  }

 private:
  static std::size_t ends_with_pong(std::string_view bytes) {
    return bytes.ends_with("PONG\r\n") ? bytes.size() : 0;
  }

  // A request to the API, over the subscription of slot 0.
  std::string request(Channel& channel, const std::string& subject, const std::string& text) {
    std::string bytes = "PUB " + subject + " " + inbox_ + "0 " + std::to_string(text.size()) +
                        "\r\n" + text + "\r\n";
    std::string answer;
    std::string fault =
        ask(channel, bytes, [](std::string_view b) { return read_message(b).bytes; }, answer);
    if (fault.empty() && answer.find("\"error\"") != answer.npos) fault = "NATS refused: " + answer;
    return fault;
  }

  void begin(std::string& out, std::uint32_t slot, Kind kind, const std::string& subject_blank,
             std::size_t size) {
    CHECK(!busy_[slot], "slot {} is in use", slot);
    busy_[slot] = true;
    kinds_[slot] = kind;
    out.append("PUB ").append(subject_blank).append(inbox_).append(std::to_string(slot));
    out.append(" ").append(std::to_string(size)).append(crlf);
  }

  // False: not a message of a slot.
  bool take(const Message& message, std::vector<Reply>& replies,
            std::vector<Delivered>& delivered) {
    const bool headers = message.line.starts_with('H');
    if (message.words.size() < (headers ? 5u : 4u)) return false;
    const std::size_t number = number_of(message.words[2]);
    if (number < 1 || number > busy_.size() || !busy_[number - 1]) return false;
    const auto slot = static_cast<std::uint32_t>(number - 1);
    busy_[slot] = false;
    Reply reply{.slot = slot, .first_delivered = static_cast<std::uint32_t>(delivered.size())};
    const bool status = headers && message.payload.starts_with("NATS/1.0 ");
    if (kinds_[slot] == Kind::receive && !status) {
      delivered.push_back(delivered_of(message.words[3], message.payload));
      reply.good = 1;
    } else if (kinds_[slot] != Kind::receive) {
      const bool refused = status || message.payload.find("\"error\"") != message.payload.npos;
      ++(refused ? reply.failed : reply.good);
      if (refused) reply.reason = message.payload.substr(0, 100);
    }
    replies.push_back(reply);
    return true;
  }

  std::string stream_, inbox_, next_;
  std::vector<Kind> kinds_;  // by slot
  std::vector<bool> busy_;
};

}  // namespace

std::unique_ptr<Codec> make_nats_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<NatsCodec>(options, target);
}

}  // namespace pawl::load
