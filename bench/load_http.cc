// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <list>

#include "bench/load_codec.h"
#include "core/check.h"
#include "proto/text/text.h"

// The codec of SQS over HTTP/1.1: JSON protocol, keep-alive, any endpoint. Requests are built from
// prepared bytes; responses are parsed only as far as needed. Responses arrive in the order of
// requests, which gives their slots.

namespace pawl::load {
namespace {

enum class Kind : std::uint8_t { send, receive, delete_message };

// One response, with its body joined.
struct Response {
  int status = 0;
  std::string_view body;
  std::size_t bytes = 0;  // with headers; 0: not complete yet
  bool broken = false;
};

// The body's length according to the headers; chunked takes precedence.
struct Length {
  bool chunked = false;
  std::size_t bytes = 0;
};

Length length_of(std::string_view headers) {
  constexpr std::string_view content_length = "content-length:";
  constexpr std::string_view chunked = "transfer-encoding: chunked";
  Length length;
  for (std::size_t at = headers.find('\n'); at != headers.npos; at = headers.find('\n', at + 1)) {
    std::string_view line = headers.substr(at + 1);
    if (starts_with_ignoring_case(line, chunked)) length.chunked = true;
    if (!starts_with_ignoring_case(line, content_length)) continue;
    line.remove_prefix(content_length.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::from_chars(line.data(), line.data() + line.size(), length.bytes);
  }
  return length;
}

// Joins the chunks of a body; `bytes` becomes their encoded length. False: the body is incomplete.
bool join_chunks(std::string_view rest, std::string& body, std::size_t& bytes) {
  std::size_t at = 0;
  while (true) {
    const std::size_t line = rest.find("\r\n", at);
    if (line == rest.npos) return false;
    std::size_t size = 0;
    std::from_chars(rest.data() + at, rest.data() + line, size, 16);
    if (rest.size() < line + 2 + size + 2) return false;
    body.append(rest.substr(line + 2, size));
    at = line + 2 + size + 2;
    if (size == 0) break;
  }
  bytes = at;
  return true;
}

Response read_response(std::string_view bytes, std::list<std::string>& joined) {
  Response response;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return response;
  if (!bytes.starts_with("HTTP/1.") || bytes.size() < 12) {
    response.broken = true;
    return response;
  }
  std::from_chars(bytes.data() + 9, bytes.data() + 12, response.status);
  const std::string_view rest = bytes.substr(end + 4);
  const Length length = length_of(bytes.substr(0, end + 2));
  if (length.chunked) {
    std::size_t taken = 0;
    std::string& body = joined.emplace_back();
    if (!join_chunks(rest, body, taken)) return response;
    response.body = body;
    response.bytes = end + 4 + taken;
  } else if (rest.size() >= length.bytes) {
    response.body = rest.substr(0, length.bytes);
    response.bytes = end + 4 + length.bytes;
  }
  return response;
}

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

class HttpCodec : public Codec {
 public:
  HttpCodec(const LoadOptions& options, const Target& target)
      : options_(options), queue_(target.queue), pending_(options.depth) {
    host_ = target.host + ":" + target.port;
    url_ = "{\"QueueUrl\":\"" + options.url + "\"";
    build();
  }

  std::string prepare(int socket, bool create) override {
    const std::string fifo = is_fifo() ? ",\"Attributes\":{\"FifoQueue\":\"true\"}" : "";
    const std::string body = create ? "{\"QueueName\":\"" + queue_ + "\"" + fifo + "}"
                                    : url_ + ",\"AttributeNames\":[\"QueueArn\"]}";
    std::string bytes = head(create ? "CreateQueue" : "GetQueueAttributes") +
                        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (!send_all(socket, bytes)) return "the connection broke at the first request";
    bytes.clear();
    std::list<std::string> joined;
    while (true) {
      if (!receive_some(socket, bytes)) return "the endpoint did not respond to the first request";
      const Response response = read_response(bytes, joined);
      if (response.broken) return "the endpoint does not speak HTTP/1.1";
      if (response.bytes == 0) continue;
      if (response.status == 200) return {};
      const bool absent = response.body.find("QueueDoesNotExist") != response.body.npos ||
                          response.body.find("NonExistentQueue") != response.body.npos;
      if (absent) return "there is no queue " + queue_ + "; --create creates it";
      return "the endpoint refused: " + std::to_string(response.status) + " " +
             std::string(response.body.substr(0, 300));
    }
  }

  void append_send(std::string& out, std::uint32_t slot, std::uint64_t stamp) override {
    const std::size_t begin = out.size();
    out.append(send_);
    for (const std::size_t at : stamps_) write_stamp(out.data() + begin + at, stamp);
    for (const std::size_t at : deduplication_ids_) write_stamp(out.data() + begin + at, next_id());
    push({slot, Kind::send, options_.batch});
  }

  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    out.append(wait ? receive_waiting_ : receive_);
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
    char digits[24];
    const auto length = std::to_chars(digits, digits + sizeof digits, body_.size());
    out.append(count == 1 ? delete_head_ : delete_batch_head_)
        .append(digits, length.ptr)
        .append("\r\n\r\n")
        .append(body_);
    push({slot, Kind::delete_message, count});
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    joined_.clear();
    while (taken < bytes.size()) {
      const Response response = read_response(bytes.substr(taken), joined_);
      if (response.broken) return broken;
      if (response.bytes == 0) break;
      if (waiting_ == 0) return broken;  // a response without a request
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

  // The request head up to the digits of Content-Length. SDKs sign requests; a placeholder
  // signature tells emulators the region.
  std::string head(std::string_view action) const {
    return "POST / HTTP/1.1\r\nHost: " + host_ + "\r\nX-Amz-Target: AmazonSQS." +
           std::string(action) +
           "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
           "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, "
           "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" +
           std::string(64, '0') + "\r\nContent-Length: ";
  }
  std::string whole(std::string_view action, std::string_view body) const {
    return head(action) + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }

  void build() {
    const std::string text = make_body(options_.body);
    std::string body = url_;
    std::vector<std::size_t> at, ids;
    const auto add_message = [&] {
      if (is_fifo()) {
        body += ",\"MessageGroupId\":\"bench\",\"MessageDeduplicationId\":\"";
        ids.push_back(body.size());
        body += std::string(stamp_bytes, '0') + "\"";
      }
      body += ",\"MessageBody\":\"";
      at.push_back(body.size());
      body += text + "\"}";
    };
    if (options_.batch == 1) {
      add_message();
    } else {
      body += ",\"Entries\":[";
      for (std::uint32_t i = 0; i < options_.batch; ++i) {
        body += std::string(i == 0 ? "" : ",") + "{\"Id\":\"" + std::to_string(i) + "\"";
        add_message();
      }
      body += "]}";
    }
    send_ = whole(options_.batch == 1 ? "SendMessage" : "SendMessageBatch", body);
    for (const std::size_t offset : at) {
      if (options_.body >= stamp_bytes) stamps_.push_back(send_.size() - body.size() + offset);
    }
    for (const std::size_t offset : ids)
      deduplication_ids_.push_back(send_.size() - body.size() + offset);
    const std::string max = ",\"MaxNumberOfMessages\":" + std::to_string(options_.batch);
    receive_ = whole("ReceiveMessage", url_ + max + ",\"WaitTimeSeconds\":0}");
    receive_waiting_ = whole("ReceiveMessage", url_ + max + ",\"WaitTimeSeconds\":1}");
    delete_head_ = head("DeleteMessage");
    delete_batch_head_ = head("DeleteMessageBatch");
  }

  Reply read(const Pending& pending, const Response& response,
             std::vector<Delivered>& delivered) const {
    Reply reply{.slot = pending.slot,
                .first_delivered = static_cast<std::uint32_t>(delivered.size())};
    if (response.status != 200) {
      reply.failed = 1;
      reply.reason = reason_in(response);
    } else if (pending.kind == Kind::receive) {
      std::size_t receipts = 0;
      std::size_t bodies = 0;
      while (true) {
        const std::string_view receipt = next_text(response.body, "\"ReceiptHandle\"", receipts);
        if (receipt.empty()) break;
        delivered.push_back({receipt, read_stamp(next_text(response.body, "\"Body\"", bodies))});
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
    static std::uint64_t last =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    return ++last;
  }

  // The reason of a refusal: "MissingParameter: The request must contain ...".
  static std::string reason_in(const Response& response) {
    std::size_t type_at = 0, message_at = 0;
    std::string_view type = next_text(response.body, "\"__type\"", type_at);
    type.remove_prefix(type.rfind('#') + 1);
    const std::string_view message = next_text(response.body, "\"message\"", message_at);
    if (type.empty()) return "HTTP " + std::to_string(response.status);
    return std::string(type) + ": " + std::string(message.substr(0, 200));
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
  std::string queue_, host_, url_;
  std::string send_, receive_, receive_waiting_, delete_head_, delete_batch_head_;
  std::vector<std::size_t> stamps_;             // positions in send_
  std::vector<std::size_t> deduplication_ids_;  // FIFO only: positions in send_
  std::vector<Pending> pending_;                // ring, oldest first
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
