// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <ctime>
#include <expected>
#include <list>

#include "bench/load_channel.h"
#include "bench/load_codec.h"
#include "core/base/check.h"
#include "net/sqs_client/call_error.h"
#include "net/sqs_client/http_response.h"
#include "net/sqs_client/signer.h"

// The codec of SQS over HTTP/1.1: JSON protocol, keep-alive, any endpoint. Requests are built from
// prepared bytes; responses are parsed only as far as needed. Responses arrive in the order of
// requests, which gives their slots.

namespace pawl::load {
namespace {

using sqs_client::describe;
using sqs_client::HttpResponse;
using sqs_client::join_chunks;
using sqs_client::PreparedHead;
using sqs_client::read_response;
using sqs_client::RequestSigner;
using sqs_client::service_error_of;

enum class Kind : std::uint8_t { send, receive, delete_message };

// The text after "key" :, in its JSON form, beginning at or after `at`; moves `at` behind the text.
std::string_view next_text(std::string_view json, std::string_view key, std::size_t& at) {
  const std::size_t found = json.find(key, at);
  if (found == json.npos) return {};
  std::size_t begin = found + key.size();
  while (begin < json.size() && (json[begin] == ' ' || json[begin] == ':')) ++begin;
  if (begin >= json.size() || json[begin] != '"') return {};
  const std::size_t end = json.find('"', ++begin);
  if (end == json.npos) return {};
  at = end + 1;
  return json.substr(begin, end - begin);
}

std::uint32_t count_of(std::string_view json, std::string_view key) {
  std::uint32_t count = 0;
  for (std::size_t at = json.find(key); at != json.npos; at = json.find(key, at + key.size()))
    ++count;
  return count;
}

// A number in a prepared send that differs in each use: 16 hexadecimal digits.
struct Field {
  enum class Kind : std::uint8_t { stamp, sequence, group, deduplication_id };
  Kind kind{};
  std::uint32_t entry = 0;
  std::size_t at = 0;
};

class HttpCodec : public Codec {
 public:
  HttpCodec(const LoadOptions& options, const Target& target)
      : options_(options),
        queue_(target.queue),
        signer_(target.host_header, {options.key_id, options.secret, options.session_token},
                options.region),
        pending_(options.depth) {
    url_ = "{\"QueueUrl\":\"" + options.url + "\"";
    build();
  }

  std::string prepare(Channel& channel, bool create) override {
    const auto found = create && !options_.cleanup
                           ? std::unexpected(Refusal{.absent = true, .text = {}})
                           : ask(channel, "GetQueueAttributes", attributes());
    if (found) return {};
    if (!found.error().absent) return found.error().text;
    if (!create) return "there is no queue " + queue_ + "; --create creates it";
    const std::string fifo = is_fifo() ? ",\"Attributes\":{\"FifoQueue\":\"true\"}" : "";
    const auto made = ask(channel, "CreateQueue", "{\"QueueName\":\"" + queue_ + "\"" + fifo + "}");
    if (!made) return made.error().text;
    created_ = true;
    return {};
  }

  bool created() const override { return created_; }

  std::string delete_queue(Channel& channel) override {
    const auto done = ask(channel, "DeleteQueue", url_ + "}");
    return done ? std::string() : done.error().text;
  }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    const std::size_t begin = out.size();
    out.append(send_);
    for (const Field& field : fields_)
      write_stamp(out.data() + begin + field.at, value_of(field, mark));
    signer_.sign(out, begin, begin + send_body_, send_head_, std::time(nullptr));
    push({slot, Kind::send, options_.batch});
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    append_request(out, receive_head_, wait ? receive_waiting_ : receive_);
    push({slot, Kind::receive, 0});
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    body_ = url_;
    if (count == 1) {
      body_.append(",\"ReceiptHandle\":\"").append(first->receipt).append("\"}");
    } else {
      body_.append(",\"Entries\":[");
      for (std::uint32_t i = 0; i < count; ++i) {
        body_.append(i == 0 ? "{\"Id\":\"" : ",{\"Id\":\"").append(1, static_cast<char>('0' + i));
        body_.append("\",\"ReceiptHandle\":\"").append(first[i].receipt).append("\"}");
      }
      body_.append("]}");
    }
    append_request(out, count == 1 ? delete_head_ : delete_batch_head_, body_);
    push({slot, Kind::delete_message, count});
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    joined_.clear();
    while (taken < bytes.size()) {
      HttpResponse response = read_response(bytes.substr(taken));
      if (response.state == HttpResponse::State::broken) return broken;
      if (response.state == HttpResponse::State::incomplete) break;
      if (waiting_ == 0) return broken;  // a response without a request
      if (response.chunked) response.body = joined_.emplace_back(join_chunks(response.body));
      replies.push_back(read(pop(), response, delivered));
      taken += response.bytes;
    }
    return taken;
  }

 private:
  struct Pending {
    std::uint32_t slot = 0;
    Kind kind{};
    std::uint32_t entries = 0;
  };

  struct Refusal {
    bool absent = false;  // there is no such queue
    std::string text;
  };

  // Sends one request and waits for its response, outside the load.
  std::expected<void, Refusal> ask(Channel& channel, std::string_view action,
                                   std::string_view body) {
    std::string bytes;
    append_request(bytes, signer_.head(action), body);
    if (!channel.send_all(bytes))
      return std::unexpected(Refusal{.text = "the connection broke at the first request"});
    bytes.clear();
    while (true) {
      if (!channel.receive_some(bytes))
        return std::unexpected(
            Refusal{.text = "the endpoint did not respond to the first request"});
      const HttpResponse response = read_response(bytes);
      if (response.state == HttpResponse::State::broken)
        return std::unexpected(Refusal{.text = "the endpoint does not speak HTTP/1.1"});
      if (response.state == HttpResponse::State::incomplete) continue;
      if (response.status == 200) return {};
      const std::string text =
          response.chunked ? join_chunks(response.body) : std::string(response.body);
      return std::unexpected(
          Refusal{.absent = text.find("QueueDoesNotExist") != text.npos ||
                            text.find("NonExistentQueue") != text.npos,
                  .text = "the endpoint refused: " + std::to_string(response.status) + " " +
                          describe(service_error_of(text), response.status)});
    }
  }

  void append_request(std::string& out, const PreparedHead& head, std::string_view body) {
    signer_.append(out, head, body, std::time(nullptr));
  }

  std::string attributes() const { return url_ + ",\"AttributeNames\":[\"QueueArn\"]}"; }

  void build() {
    std::string body = url_;
    if (options_.batch == 1) {
      add_message(body, 0);
    } else {
      body += ",\"Entries\":[";
      for (std::uint32_t i = 0; i < options_.batch; ++i) {
        body += std::string(i == 0 ? "" : ",") + "{\"Id\":\"" + std::to_string(i) + "\"";
        add_message(body, i);
      }
      body += "]}";
    }
    send_head_ = signer_.head(options_.batch == 1 ? "SendMessage" : "SendMessageBatch");
    send_ = send_head_.bytes + std::to_string(body.size()) + "\r\n\r\n";
    send_body_ = send_.size();
    send_ += body;
    for (Field& field : fields_) field.at += send_body_;
    const std::string max = ",\"MaxNumberOfMessages\":" + std::to_string(options_.batch);
    receive_head_ = signer_.head("ReceiveMessage");
    receive_ = url_ + max + ",\"WaitTimeSeconds\":0}";
    receive_waiting_ = url_ + max + ",\"WaitTimeSeconds\":1}";
    delete_head_ = signer_.head("DeleteMessage");
    delete_batch_head_ = signer_.head("DeleteMessageBatch");
  }

  void add_message(std::string& body, std::uint32_t entry) {
    const auto add_field = [&](Field::Kind kind) {
      fields_.push_back({kind, entry, body.size()});
      body += std::string(stamp_bytes, '0') + "\"";
    };
    if (is_fifo()) {
      body += ",\"MessageGroupId\":\"bench-";
      add_field(Field::Kind::group);
      body += ",\"MessageDeduplicationId\":\"";
      add_field(Field::Kind::deduplication_id);
    }
    body += ",\"MessageBody\":\"";
    if (options_.body >= stamp_bytes) fields_.push_back({Field::Kind::stamp, entry, body.size()});
    if (options_.verify)
      fields_.push_back({Field::Kind::sequence, entry, body.size() + stamp_bytes});
    body += make_body(options_.body) + "\"}";
  }

  std::uint64_t value_of(const Field& field, const Mark& mark) const {
    switch (field.kind) {
      case Field::Kind::stamp:
        return mark.stamp;
      case Field::Kind::sequence:
        return mark.sequence + field.entry;
      case Field::Kind::group:
        return (mark.sequence + field.entry) % options_.groups;
      case Field::Kind::deduplication_id:
        return next_id();
    }
    CHECK(false, "a field of kind {}", static_cast<int>(field.kind));
  }

  Reply read(const Pending& pending, const HttpResponse& response,
             std::vector<Delivered>& delivered) const {
    Reply reply{.slot = pending.slot,
                .first_delivered = static_cast<std::uint32_t>(delivered.size()),
                .reason = {}};
    if (response.status != 200) {
      reply.failed = 1;
      reply.reason = describe(service_error_of(response.body), response.status);
    } else if (pending.kind == Kind::receive) {
      std::size_t receipts = 0;
      std::size_t bodies = 0;
      while (true) {
        const std::string_view receipt = next_text(response.body, "\"ReceiptHandle\"", receipts);
        if (receipt.empty()) break;
        const std::string_view body = next_text(response.body, "\"Body\"", bodies);
        delivered.push_back({receipt, read_stamp(body), read_sequence(body)});
        ++reply.good;
      }
    } else {
      if (pending.entries > 1)
        reply.failed = std::min(pending.entries, count_of(response.body, "\"SenderFault\""));
      reply.good = pending.entries - reply.failed;
      std::size_t at = 0;
      if (reply.failed > 0) reply.reason = next_text(response.body, "\"Code\"", at);
    }
    return reply;
  }

  bool is_fifo() const { return queue_.ends_with(".fifo"); }

  // An id that is unique across connections and runs.
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    return last.fetch_add(1, std::memory_order_relaxed);
  }

  void push(const Pending& pending) {
    CHECK(waiting_ < pending_.size(), "more than {} requests in flight", pending_.size());
    pending_[(first_ + waiting_++) % pending_.size()] = pending;
  }
  Pending pop() {
    CHECK(waiting_ > 0, "a response without a request");
    const Pending pending = pending_[first_];
    first_ = (first_ + 1) % pending_.size();
    --waiting_;
    return pending;
  }

  const LoadOptions& options_;
  std::string queue_, url_;
  RequestSigner signer_;
  bool created_ = false;
  PreparedHead send_head_, receive_head_, delete_head_, delete_batch_head_;
  std::string send_;                       // a whole request
  std::size_t send_body_ = 0;              // position in send_
  std::vector<Field> fields_;              // positions in send_
  std::string receive_, receive_waiting_;  // bodies
  std::vector<Pending> pending_;           // ring, oldest first
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
  std::string body_;
  std::list<std::string> joined_;  // chunked bodies referenced by replies
};

}  // namespace

std::unique_ptr<Codec> make_http_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<HttpCodec>(options, target);
}

}  // namespace pawl::load
