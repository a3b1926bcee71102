// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "bench/peers/peer_codec.h"

// A beanstalkd tube: put, reserve-with-timeout, delete. A waiting reserve holds back its connection
// for whole seconds, therefore it waits only at depth 1.

namespace pawl::load {
namespace {

std::size_t line_bytes(std::string_view bytes) {
  const std::size_t end = bytes.find(crlf);
  return end == bytes.npos ? 0 : end + crlf.size();
}

class BeanstalkCodec : public PeerCodec {
 public:
  BeanstalkCodec(const LoadOptions& options, const Target& target)
      : PeerCodec(options),
        tube_(target.queue),
        put_("put 1024 0 120 " + std::to_string(options.body) + "\r\n") {}

  std::string prepare(Channel& channel, bool) override {
    std::string answer;
    std::string fault = ask(channel, "use " + tube_ + "\r\n", line_bytes, answer);
    if (fault.empty()) fault = ask(channel, "watch " + tube_ + "\r\n", line_bytes, answer);
    if (fault.empty() && !answer.starts_with("WATCHING")) fault = "beanstalkd refused: " + answer;
    return fault;
  }

  bool waits() const override { return options_.depth == 1; }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    out += put_;
    append_body(out, mark.stamp, mark.sequence);
    out += crlf;
    push(slot, Kind::send, 1);
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    out += wait && waits() ? "reserve-with-timeout 1\r\n" : "reserve-with-timeout 0\r\n";
    push(slot, Kind::receive, 1);
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    CHECK(count == 1, "{} messages of a reserve", count);
    out.append("delete ").append(first->receipt).append(crlf);
    push(slot, Kind::delete_message, 1);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      const std::string_view rest = bytes.substr(taken);
      const std::size_t head = line_bytes(rest);
      if (head == 0) break;
      if (idle()) return broken;
      const std::string_view line = rest.substr(0, head - crlf.size());
      std::size_t body = 0;
      if (line.starts_with(reserved)) {
        const std::size_t blank = line.rfind(' ');
        std::from_chars(line.data() + blank + 1, line.data() + line.size(), body);
        if (rest.size() < head + body + crlf.size()) break;
        oldest().reply.first_delivered = static_cast<std::uint32_t>(delivered.size());
        delivered.push_back(delivered_of(line.substr(reserved.size(), blank - reserved.size()),
                                         rest.substr(head, body)));
        body += crlf.size();
      }
      take(line);
      count_answer(replies);
      taken += head + body;
    }
    return taken;
  }

 private:
  static constexpr std::string_view reserved = "RESERVED ";

  void take(std::string_view line) {
    Reply& reply = oldest().reply;
    if (line.starts_with("INSERTED") || line.starts_with(reserved) || line == "DELETED") {
      reply.good = 1;
    } else if (line != "TIMED_OUT" && line != "DEADLINE_SOON") {
      reply.failed = 1;
      reply.reason = line;
    }
  }

  std::string tube_, put_;
};

}  // namespace

std::unique_ptr<Codec> make_beanstalk_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<BeanstalkCodec>(options, target);
}

}  // namespace pawl::load
