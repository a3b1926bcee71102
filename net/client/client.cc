// SPDX-License-Identifier: Apache-2.0
#include "net/client/pawl/client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>

#include "core/base/check.h"
#include "core/base/enum_name.h"
#include "core/queue/request.h"
#include "net/client/answers.h"
#include "net/client/connecting.h"
#include "net/client/impl.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl {
namespace {

using client::Answer;
using client::error_of;
using std::chrono::microseconds;
using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own
using SteadyClock = std::chrono::steady_clock;

// Codes from 1000 on are the statuses of the protocol, with the same names.
template <std::uint16_t first>
consteval bool same_names() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return ((enum_name<static_cast<Client::Code>(first + i)>() ==
             enum_name<static_cast<Status>(first + i)>()) &&
            ...);
  }(std::make_index_sequence<64>());
}
static_assert(same_names<1000>() && same_names<1100>() && same_names<2000>() && same_names<3000>());
static_assert(std::tuple_size_v<Client::Receipt> == receipt_bytes);

bool is_batch(std::span<const Client::Outgoing> messages) {
  return !messages.empty() && messages.size() <= entries_max;
}

}  // namespace

std::uint64_t Client::Impl::next_number() {
  static std::atomic<std::uint64_t> last{0};  // relaxed: the numbers only differ
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Client::Result<Answer> Client::Impl::await(const Result<Ticket>& ticket, Millis timeout) {
  if (!ticket) return std::unexpected(ticket.error());
  const auto deadline = SteadyClock::now() + timeout;
  answers_.clear();
  while (answers_.empty()) {
    const auto left = std::chrono::duration_cast<microseconds>(deadline - SteadyClock::now());
    // A late response would be taken for the response to another request.
    if (left.count() <= 0) pipeline.fail(error_of(Code::timed_out, ETIMEDOUT));
    pipeline.turn(answers_, left);
  }
  CHECK(answers_.size() == 1, "{} responses to one request", answers_.size());
  const Answer& answer = answers_.front();
  CHECK(answer.ticket == *ticket, "the response to another request");
  if (answer.error.code != Code::ok) return std::unexpected(answer.error);
  return answer;
}

bool Client::Impl::take_entries(const Answer& answer) {
  if (answer.error.code != Code::ok) return true;
  switch (answer.op) {
    case BinaryOp::send:
    case BinaryOp::send_once:
      return client::take_sent(answer.payload, sent_);
    case BinaryOp::receive:
    case BinaryOp::deliver:
      return client::take_messages(answer.payload, messages_);
    case BinaryOp::subscribe:
    case BinaryOp::unsubscribe:
      return answer.payload.empty();
    default:
      return client::take_codes(answer.payload, codes_);
  }
}

// Appends the entries of a SEND or SEND_ONCE; is_batch() is true.
Client::Code Client::Impl::put_batch(std::string& out, std::span<const Outgoing> batch,
                                     const SendOptions& options) const {
  CHECK(is_batch(batch), "a batch of {} messages", batch.size());
  put_count<payload::MessageWords>(out, batch.size());
  for (const Outgoing& message : batch) {
    const bool names = !message.group.empty() || !message.deduplication_id.empty();
    if (names && !groups) return Code::not_supported;
    if (const Code code = client::put_message(out, message, options); code != Code::ok) return code;
  }
  return Code::ok;
}

Client::Result<std::size_t> Client::Impl::poll(std::vector<Completion>& completions,
                                               microseconds timeout) {
  completions.clear();
  answers_.clear();
  sent_.clear();
  messages_.clear();
  codes_.clear();
  ends_.clear();
  pipeline.turn(answers_, timeout);
  if (answers_.empty() && pipeline.failure()) return std::unexpected(*pipeline.failure());
  for (const Answer& answer : answers_) {
    completions.push_back({.ticket = answer.ticket,
                           .error = answer.error,
                           .sent = {},
                           .messages = {},
                           .codes = {},
                           .more = answer.op == BinaryOp::deliver});
    const Ends begin = ends();
    if (!take_entries(answer)) {
      sent_.resize(begin.sent);
      messages_.resize(begin.messages);
      codes_.resize(begin.codes);
      completions.back().error = error_of(Code::bad_answer);
      pipeline.fail(error_of(Code::bad_answer));
    }
    ends_.push_back(ends());
  }
  Ends begin;
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const Ends end = ends_[i];
    completions[i].sent = std::span(sent_).subspan(begin.sent, end.sent - begin.sent);
    completions[i].messages =
        std::span(messages_).subspan(begin.messages, end.messages - begin.messages);
    completions[i].codes = std::span(codes_).subspan(begin.codes, end.codes - begin.codes);
    begin = end;
  }
  return completions.size();
}

// --- life ---

Client::Result<Client> Client::connect(const Options& options) {
  client::Connecting connecting(options, SteadyClock::now());
  while (!connecting.ended()) {
    const auto left =
        std::chrono::duration_cast<microseconds>(connecting.deadline() - SteadyClock::now());
    // A failed wait is followed by a step that reports the failure.
    client::wait_for(connecting.descriptor(), connecting.events(), left);
    connecting.on_ready(SteadyClock::now());
  }
  if (connecting.state() == client::Connecting::State::failed)
    return std::unexpected(connecting.error());
  return Client(std::make_unique<Impl>(connecting.take(), options));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

const Client::Server& Client::server() const { return impl_->server; }
bool Client::connected() const { return !impl_->pipeline.failure(); }
int Client::descriptor() const { return impl_->pipeline.descriptor(); }
std::size_t Client::outstanding() const { return impl_->pipeline.outstanding(); }

// --- pipelined ---

Client::Result<Client::Ticket> Client::submit_send(const Queue& queue,
                                                   std::span<const Outgoing> batch) {
  return submit_send(queue, batch, SendOptions{});
}

Client::Result<Client::Ticket> Client::submit_send(const Queue& queue,
                                                   std::span<const Outgoing> batch,
                                                   const SendOptions& options) {
  if (!is_batch(batch)) return client::failed(Code::invalid);
  return impl_->submit(BinaryOp::send, queue,
                       [&](std::string& out) { return impl_->put_batch(out, batch, options); });
}

std::uint64_t Client::random_producer() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device() | 1;  // not 0
}

Client::Result<Client::Ticket> Client::submit_send_once(const Queue& queue,
                                                        const BatchNumbers& numbers,
                                                        std::span<const Outgoing> batch) {
  return submit_send_once(queue, numbers, batch, SendOptions{});
}

Client::Result<Client::Ticket> Client::submit_send_once(const Queue& queue,
                                                        const BatchNumbers& numbers,
                                                        std::span<const Outgoing> batch,
                                                        const SendOptions& options) {
  if (!is_batch(batch)) return client::failed(Code::invalid);
  return impl_->submit(BinaryOp::send_once, queue, [&](std::string& out) {
    if (!impl_->send_once) return Code::not_supported;
    put_struct(out, payload::Producer{numbers.producer, numbers.first, numbers.floor});
    return impl_->put_batch(out, batch, options);
  });
}

Client::Result<Client::Ticket> Client::submit_receive(const Queue& queue,
                                                      const ReceiveOptions& options) {
  return impl_->submit(BinaryOp::receive, queue, [&](std::string& out) {
    if (!impl_->groups && !options.attempt.empty()) return Code::not_supported;
    if (options.attempt.size() > UINT16_MAX) return Code::invalid;
    client::put_receive(out, options);
    if (impl_->groups) put_struct(out, payload::Attempt{options.attempt});
    return Code::ok;
  });
}

Client::Result<Client::Ticket> Client::submit_subscribe(const Queue& queue,
                                                        const SubscribeOptions& options) {
  return impl_->submit(BinaryOp::subscribe, queue, [&](std::string& out) {
    client::put_subscribe(out, options);
    return impl_->subscriptions ? Code::ok : Code::not_supported;
  });
}

Client::Result<Client::Ticket> Client::submit_acknowledge(const Queue& queue, Ticket subscription,
                                                          std::span<const Receipt> receipts,
                                                          std::uint32_t credit) {
  if (receipts.size() > entries_max) return client::failed(Code::invalid);
  return impl_->submit(BinaryOp::acknowledge, queue, [&](std::string& out) {
    put_struct(out, payload::Grant{subscription, credit});
    client::put_receipts(out, receipts, std::nullopt);
    return impl_->subscriptions ? Code::ok : Code::not_supported;
  });
}

Client::Result<Client::Ticket> Client::submit_unsubscribe(Ticket subscription) {
  return impl_->submit(BinaryOp::unsubscribe, 0, [&](std::string& out) {
    put_struct(out, payload::Unsubscribe{subscription});
    return impl_->subscriptions ? Code::ok : Code::not_supported;
  });
}

Client::Result<Client::Ticket> Client::submit_delete_message(const Queue& queue,
                                                             std::span<const Receipt> receipts) {
  if (receipts.empty() || receipts.size() > entries_max) return client::failed(Code::invalid);
  return impl_->submit(BinaryOp::delete_message, queue, [&](std::string& out) {
    client::put_receipts(out, receipts, std::nullopt);
    return Code::ok;
  });
}

Client::Result<Client::Ticket> Client::submit_change_visibility(const Queue& queue,
                                                                std::span<const Receipt> receipts,
                                                                Millis visibility) {
  if (receipts.empty() || receipts.size() > entries_max) return client::failed(Code::invalid);
  return impl_->submit(BinaryOp::change, queue, [&](std::string& out) {
    client::put_receipts(out, receipts, visibility);
    return Code::ok;
  });
}

Client::Result<void> Client::flush() {
  impl_->pipeline.flush();
  if (impl_->pipeline.failure()) return std::unexpected(*impl_->pipeline.failure());
  return {};
}

Client::Result<std::size_t> Client::poll(std::vector<Completion>& completions,
                                         microseconds timeout) {
  return impl_->poll(completions, timeout);
}

}  // namespace pawl
