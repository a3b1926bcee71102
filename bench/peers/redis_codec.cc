// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "bench/peers/peer_codec.h"

// A Redis stream with one consumer group: XADD; XREADGROUP; XACK and XDEL, so that deleted messages
// leave the stream. A blocked XREADGROUP holds back its connection: it blocks briefly, and only at
// depth 1.

namespace pawl::load {
namespace {

constexpr int block_ms = 50;

// Appends a command as an array of bulk strings.
class Command {
 public:
  Command(std::string& out, std::size_t words) : out_(out) { header('*', words); }
  Command& word(std::string_view text) {
    header('$', text.size());
    out_.append(text).append("\r\n");
    return *this;
  }
  void header(char type, std::size_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    out_.append(1, type).append(digits, end.ptr).append("\r\n");
  }

 private:
  std::string& out_;
};

// One RESP2 value, flat: its bulk strings, its error.
struct Value {
  std::size_t bytes = 0;  // 0: incomplete
  bool broken = false;
  std::string_view error;
  std::vector<std::string_view> bulks;
};

// Reads the value at `at` and moves it behind. False: incomplete or broken.
bool take_value(std::string_view bytes, std::size_t& at, Value& value) {
  const std::size_t end = bytes.find("\r\n", at);
  if (end == bytes.npos) return false;
  const char type = bytes[at];
  const std::string_view line = bytes.substr(at + 1, end - at - 1);
  at = end + 2;
  if (type == '-') value.error = line;
  if (type == '+' || type == '-' || type == ':') return true;
  long number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  if (number < 0 && (type == '$' || type == '*')) return true;  // null
  if (type == '$') {
    const auto size = static_cast<std::size_t>(number);
    if (bytes.size() < at + size + 2) return false;
    value.bulks.push_back(bytes.substr(at, size));
    at += size + 2;
    return true;
  }
  value.broken = type != '*';
  for (long i = 0; i < number && !value.broken; ++i) {
    if (!take_value(bytes, at, value)) return false;
  }
  return !value.broken;
}

Value read_value(std::string_view bytes) {
  Value value;
  std::size_t at = 0;
  if (take_value(bytes, at, value)) value.bytes = at;
  return value;
}

class RedisCodec : public PeerCodec {
 public:
  RedisCodec(const LoadOptions& options, const Target& target)
      : PeerCodec(options), stream_(target.queue), batch_(std::to_string(options.batch)) {}

  std::string prepare(Channel& channel, bool) override {
    std::string bytes, answer;
    Command(bytes, 6).word("XGROUP").word("CREATE").word(stream_).word(group).word("0").word(
        "MKSTREAM");
    std::string fault =
        ask(channel, bytes, [](std::string_view b) { return read_value(b).bytes; }, answer);
    if (fault.empty() && answer.starts_with('-') && !answer.starts_with("-BUSYGROUP"))
      fault = "Redis refused: " + answer;
    return fault;
  }

  bool waits() const override { return options_.depth == 1; }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    for (std::uint32_t i = 0; i < options_.batch; ++i) {
      Command add(out, 5);
      add.word("XADD").word(stream_).word("*").word("b");
      add.header('$', options_.body);
      append_body(out, mark.stamp, mark.sequence + i);
      out += "\r\n";
    }
    push(slot, Kind::send, options_.batch);
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    const bool blocks = wait && waits();
    Command read(out, blocks ? 11 : 9);
    read.word("XREADGROUP").word("GROUP").word(group).word("consumer").word("COUNT").word(batch_);
    if (blocks) read.word("BLOCK").word(std::to_string(block_ms));
    read.word("STREAMS").word(stream_).word(">");
    push(slot, Kind::receive, 1);
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    Command acknowledge(out, 3 + count);
    acknowledge.word("XACK").word(stream_).word(group);
    for (std::uint32_t i = 0; i < count; ++i) acknowledge.word(first[i].receipt);
    Command erase(out, 2 + count);
    erase.word("XDEL").word(stream_);
    for (std::uint32_t i = 0; i < count; ++i) erase.word(first[i].receipt);
    push(slot, Kind::delete_message, 2);
    oldest_delete_counts_.push_back(count);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      const Value value = read_value(bytes.substr(taken));
      if (value.broken || (value.bytes > 0 && idle())) return broken;
      if (value.bytes == 0) break;
      take(value, delivered);
      count_answer(replies);
      taken += value.bytes;
    }
    return taken;
  }

 private:
  static constexpr std::string_view group = "group";

  void take(const Value& value, std::vector<Delivered>& delivered) {
    Request& request = oldest();
    if (!value.error.empty()) {
      ++request.reply.failed;
      request.reply.reason = value.error;
    } else if (request.kind == Kind::send) {
      ++request.reply.good;
    } else if (request.kind == Kind::receive) {
      request.reply.first_delivered = static_cast<std::uint32_t>(delivered.size());
      // stream, then for each message: id, "b", body
      for (std::size_t i = 1; i + 2 < value.bulks.size(); i += 3) {
        delivered.push_back(delivered_of(value.bulks[i], value.bulks[i + 2]));
        ++request.reply.good;
      }
    }
    if (request.kind != Kind::delete_message || request.answers > 1) return;
    if (value.error.empty()) request.reply.good = oldest_delete_counts_.front();
    oldest_delete_counts_.erase(oldest_delete_counts_.begin());
  }

  std::string stream_, batch_;
  std::vector<std::uint32_t> oldest_delete_counts_;  // messages of the deletes in flight
};

}  // namespace

std::unique_ptr<Codec> make_redis_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<RedisCodec>(options, target);
}

}  // namespace pawl::load
