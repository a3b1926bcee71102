// SPDX-License-Identifier: Apache-2.0
#include "net/client/pipeline.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl::client {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t slots_max = 1u << 15;
// Requests gather up to this many bytes; then they are sent without a flush().
constexpr std::size_t gather_bytes_max = 64 << 10;

microseconds left(Clock::time_point deadline) {
  return std::max(microseconds(0),
                  std::chrono::duration_cast<microseconds>(deadline - Clock::now()));
}

// Decodes the 8 bytes of a refusal.
Client::Error refusal(const FrameHeader& header, std::string_view payload) {
  BinaryReader in(payload);
  Client::Error error{.code = static_cast<Client::Code>(header.status)};
  const auto [retry_after_ms, detail] = take_struct<RefusalPayload>(in);
  error.retry_after = std::chrono::milliseconds(retry_after_ms);
  error.detail = detail;
  return in.ok() ? error : error_of(Client::Code::bad_answer);
}

}  // namespace

Client::Error error_of(Client::Code code, int system) { return {.code = code, .system = system}; }

Pipeline::Pipeline(Socket socket, const Client::Options& options)
    : socket_(std::move(socket)), spin_(options.spin) {
  grant(1, frame_bytes_max);  // HELLO; its response grants more
}

void Pipeline::grant(std::uint32_t frames, std::uint32_t bytes) {
  CHECK(outstanding_ == 0, "credit is granted while {} requests are in flight", outstanding_);
  frames = std::clamp(frames, 1u, slots_max);
  bytes_max_ = bytes;
  slots_.assign(frames, Slot{});
  free_.clear();
  for (std::uint32_t i = frames; i-- > 0;) free_.push_back(static_cast<std::uint16_t>(i));
}

std::optional<Client::Error> Pipeline::obstacle() const {
  if (failure_) return failure_;
  if (free_.empty() || (outstanding_ > 0 && bytes_ >= bytes_max_))
    return error_of(Client::Code::would_block);
  return std::nullopt;
}

short Pipeline::events() const { return static_cast<short>(POLLIN | (unsent() ? POLLOUT : 0)); }

std::size_t Pipeline::credit_bytes() const {
  if (outstanding_ == 0) return frame_bytes_max;
  const std::size_t left = bytes_max_ - std::min<std::uint64_t>(bytes_, bytes_max_);
  return std::min<std::size_t>(left, frame_bytes_max);
}

std::string& Pipeline::begin(BinaryOp op, std::uint32_t queue) {
  CHECK(!failure_, "a request begins on a broken connection");
  CHECK(!free_.empty(), "a request begins without credit");
  const std::uint16_t index = free_.back();
  CHECK(slots_[index].bytes == 0, "slot {} is in use", index);
  slots_[index].op = op;
  FrameHeader header;
  header.op = static_cast<std::uint8_t>(op);
  header.flags = checksum_ ? flag_checksum : 0;
  header.correlation = index | std::uint32_t{slots_[index].uses} << 16;
  header.queue = queue;
  frame_begin_ = begin_frame(socket_.out(), header);
  return socket_.out();
}

void Pipeline::abandon() {
  CHECK(frame_begin_ <= socket_.out().size(), "a frame begins at {} of {} bytes", frame_begin_,
        socket_.out().size());
  socket_.out().resize(frame_begin_);
}

std::expected<Client::Ticket, Client::Error> Pipeline::finish() {
  std::string& out = socket_.out();
  CHECK(frame_begin_ + frame_header_bytes <= out.size(), "a frame begins at {} of {} bytes",
        frame_begin_, out.size());
  const std::size_t size = out.size() - frame_begin_ + (checksum_ ? frame_checksum_bytes : 0);
  const bool too_large = size > frame_bytes_max;
  if (too_large || (outstanding_ > 0 && bytes_ + size > bytes_max_)) {
    abandon();
    return std::unexpected(
        error_of(too_large ? Client::Code::too_large : Client::Code::would_block));
  }
  finish_frame(out, frame_begin_);
  const std::uint16_t index = free_.back();
  free_.pop_back();
  slots_[index].bytes = static_cast<std::uint32_t>(size);
  bytes_ += size;
  ++outstanding_;
  CHECK(outstanding_ + free_.size() == slots_.size(), "{} requests and {} free slots of {}",
        outstanding_, free_.size(), slots_.size());
  const Client::Ticket ticket = index | std::uint32_t{slots_[index].uses} << 16;
  if (out.size() >= gather_bytes_max) flush();
  return ticket;
}

void Pipeline::flush() {
  if (failure_) return;
  if (const auto sent = socket_.flush(); !sent) fail(error_of(Client::Code::broken, sent.error()));
}

void Pipeline::fail(Client::Error error) {
  if (failure_) return;
  failure_ = error;
  socket_.close();
}

void Pipeline::turn(std::vector<Answer>& answers, microseconds timeout) {
  if (!failure_) {
    socket_.consume(std::exchange(consumed_, 0));
    flush();
  }
  if (!failure_ && !take(answers)) wait(answers, timeout);
  if (failure_) break_all(answers);
}

// Waits for a response: first spinning, then sleeping.
void Pipeline::wait(std::vector<Answer>& answers, microseconds timeout) {
  const auto start = Clock::now();
  const auto deadline = start + timeout;
  const auto asleep_at = start + std::min(spin_, timeout);
  while (!failure_) {
    const auto received = socket_.receive(next_bytes_);
    if (!received) return fail(error_of(Client::Code::broken, received.error()));
    if (*received) {
      if (take(answers)) return;
      continue;
    }
    if (socket_.unsent()) flush();
    const auto now = Clock::now();
    if (now >= deadline) return;
    if (now < asleep_at) continue;
    if (const auto woken = socket_.wait(left(deadline)); !woken)
      fail(error_of(Client::Code::broken, woken.error()));
  }
}

// Takes every complete received frame. True: there was a response, or a failure.
bool Pipeline::take(std::vector<Answer>& answers) {
  const std::size_t before = answers.size();
  while (!failure_) {
    const std::string_view bytes = socket_.in().substr(consumed_);
    next_bytes_ = consumed_ + frame_header_bytes;
    if (bytes.size() < frame_header_bytes) break;
    const auto header = parse_header(bytes);
    if (!header) {
      fail(error_of(Client::Code::bad_answer));
      break;
    }
    next_bytes_ = consumed_ + header->length;
    if (bytes.size() < header->length) break;
    if (!take_frame(*header, bytes.substr(0, header->length), answers))
      fail(error_of(Client::Code::bad_answer));
    consumed_ += header->length;
  }
  return answers.size() > before || failure_.has_value();
}

bool Pipeline::take_frame(const FrameHeader& header, std::string_view frame,
                          std::vector<Answer>& answers) {
  const auto payload = payload_of(header, frame);
  const std::uint32_t index = header.correlation & 0xFFFF;
  if (!payload || !(header.flags & flag_answer) || index >= slots_.size()) return false;
  Slot& slot = slots_[index];
  const auto op = static_cast<BinaryOp>(header.op);
  const bool delivers = op == BinaryOp::deliver && slot.op == BinaryOp::subscribe;
  const bool ours = slot.bytes != 0 && slot.uses == header.correlation >> 16 &&
                    (slot.op == op || (delivers && header.status == 0));
  if (!ours) return false;
  Answer answer{.ticket = header.correlation, .op = op, .header = header, .payload = *payload};
  if (delivers) {
    answers.push_back(answer);
    return true;
  }
  if (header.status != 0) {
    answer.error = refusal(header, *payload);
    answer.payload = {};
  }
  CHECK(outstanding_ > 0, "a slot in use without a request in flight");
  CHECK(bytes_ >= slot.bytes, "a request of {} bytes of {}", slot.bytes, bytes_);
  answers.push_back(answer);
  bytes_ -= std::exchange(slot.bytes, 0);
  ++slot.uses;
  --outstanding_;
  free_.push_back(static_cast<std::uint16_t>(index));
  return true;
}

void Pipeline::break_all(std::vector<Answer>& answers) {
  for (std::size_t index = 0; index < slots_.size() && outstanding_ > 0; ++index) {
    Slot& slot = slots_[index];
    if (slot.bytes == 0) continue;
    const auto ticket = static_cast<Client::Ticket>(index | std::uint32_t{slot.uses} << 16);
    answers.push_back({.ticket = ticket, .op = slot.op, .error = *failure_});
    slot.bytes = 0;
    --outstanding_;
  }
  CHECK(outstanding_ == 0, "{} requests in flight have no slot", outstanding_);
  bytes_ = 0;
}

}  // namespace pawl::client
