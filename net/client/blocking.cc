// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <concepts>
#include <type_traits>

#include "core/base/check.h"
#include "core/queue/request.h"
#include "net/client/answers.h"
#include "net/client/impl.h"
#include "net/client/pawl/client.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

// The blocking calls: each sends one request and decodes its response. Functions that need no
// connection follow.

namespace pawl {
namespace {

using client::error_of;
using client::failed;
using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

bool is_encodable(std::string_view text) { return text.size() <= UINT16_MAX; }
constexpr bool is_encodable(std::integral auto) { return true; }

// Appends a struct, or refuses it for a text beyond the limit: no such queue can exist.
template <typename S>
Client::Code put_checked(std::string& out, const S& s) {
  bool fits = true;
  S::fields(s, [&fits](const auto&... field) { fits = (is_encodable(field) && ...); });
  if (!fits) return Client::Code::invalid;
  put_struct(out, s);
  return Client::Code::ok;
}

// Decodes a response of one struct, and returns its member.
template <typename S, typename Number, typename Answer>
Client::Result<Number> number_in(const Client::Result<Answer>& answer, Number S::* member) {
  if (!answer) return std::unexpected(answer.error());
  BinaryReader in(answer->payload);
  const S s = take_struct<S>(in);
  if (!in.finished()) return failed(Client::Code::bad_answer);
  return s.*member;
}

// Decodes the response about one receipt.
template <typename Answer>
Client::Result<void> only_code_in(const Client::Result<Answer>& answer) {
  if (!answer) return std::unexpected(answer.error());
  std::vector<Client::Code> codes;
  if (!client::take_codes(answer->payload, codes) || codes.size() != 1)
    return failed(Client::Code::bad_answer);
  if (codes.front() != Client::Code::ok) return failed(codes.front());
  return {};
}

// Appends row_of(id) for each id.
template <typename RowOf>
Client::Code put_rows(std::string& out, std::span<const Client::MessageId> ids, RowOf&& row_of) {
  if (ids.empty() || ids.size() > entries_max) return Client::Code::invalid;
  put_count<std::invoke_result_t<RowOf, Client::MessageId>>(out, ids.size());
  for (const Client::MessageId& id : ids) put_struct(out, row_of(id));
  return Client::Code::ok;
}

}  // namespace

Client::Result<void> Client::ping() {
  const auto answer = impl_->call(BinaryOp::ping, 0);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Client::Result<Client::Queue> Client::create_queue(std::string_view name,
                                                   std::span<const QueueAttribute> attributes) {
  const auto answer = impl_->call(BinaryOp::create_queue, 0, [&](std::string& out) {
    if (const Code code = put_checked(out, payload::Name{name}); code != Code::ok) return code;
    const Code code = client::put_queue_attributes(out, attributes);
    put_count<payload::Tag>(out, 0);
    return code;
  });
  if (!answer) return std::unexpected(answer.error());
  Queue queue{.handle = answer->header.queue, .client = impl_->number};
  if (!client::take_queue(answer->payload, queue)) return failed(Code::bad_answer);
  return queue;
}

Client::Result<Client::Queue> Client::open_queue(std::string_view name, std::string_view account) {
  const auto answer = impl_->call(BinaryOp::open_queue, 0, [&](std::string& out) {
    return put_checked(out, payload::QueueAddress{account, name});
  });
  if (!answer) return std::unexpected(answer.error());
  Queue queue{.handle = answer->header.queue, .client = impl_->number};
  if (!client::take_queue(answer->payload, queue)) return failed(Code::bad_answer);
  return queue;
}

Client::Result<void> Client::delete_queue(const Queue& queue) {
  const auto answer = impl_->call(BinaryOp::delete_queue, queue);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Client::Result<void> Client::set_attributes(const Queue& queue,
                                            std::span<const QueueAttribute> attributes) {
  const auto answer = impl_->call(BinaryOp::set_attributes, queue, [&](std::string& out) {
    return client::put_queue_attributes(out, attributes);
  });
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Client::Result<Client::QueueDescription> Client::describe(const Queue& queue) {
  const auto answer = impl_->call(BinaryOp::get_attributes, queue);
  if (!answer) return std::unexpected(answer.error());
  QueueDescription description;
  if (!client::take_description(answer->payload, description)) return failed(Code::bad_answer);
  return description;
}

Client::Result<Client::QueueList> Client::list_queues(std::string_view prefix,
                                                      std::string_view after, std::uint16_t max) {
  const auto answer = impl_->call(BinaryOp::list_queues, 0, [&](std::string& out) {
    return put_checked(out, payload::ListQueues{prefix, after, max});
  });
  if (!answer) return std::unexpected(answer.error());
  QueueList list;
  if (!client::take_names(answer->payload, list)) return failed(Code::bad_answer);
  return list;
}

Client::Result<void> Client::purge(const Queue& queue) {
  const auto answer = impl_->call(BinaryOp::purge, queue);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Client::Result<Client::Counts> Client::counts(const Queue& queue) {
  const auto answer = impl_->call(BinaryOp::stats, queue);
  if (!answer) return std::unexpected(answer.error());
  Counts counts;
  if (!client::take_counts(answer->payload, counts)) return failed(Code::bad_answer);
  return counts;
}

Client::Result<Client::Tags> Client::tags(const Queue& queue) {
  const auto answer = impl_->call(BinaryOp::get_tags, queue);
  if (!answer) return std::unexpected(answer.error());
  Tags tags;
  if (!client::take_tags(answer->payload, tags)) return failed(Code::bad_answer);
  return tags;
}

Client::Result<void> Client::set_tags(const Queue& queue, std::span<const QueueAttribute> set,
                                      std::span<const std::string_view> removed) {
  if (set.size() > UINT16_MAX || removed.size() > UINT16_MAX) return failed(Code::invalid);
  const auto answer = impl_->call(BinaryOp::set_tags, queue, [&](std::string& out) {
    put_count<payload::Tag>(out, set.size());
    Code code = Code::ok;
    for (const auto& [key, value] : set) {
      if (code == Code::ok) code = put_checked(out, payload::Tag{key, value});
    }
    put_count<payload::Name>(out, removed.size());
    for (const std::string_view key : removed) {
      if (code == Code::ok) code = put_checked(out, payload::Name{key});
    }
    return code;
  });
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Client::Result<Client::QueueList> Client::sources(const Queue& queue, std::string_view after,
                                                  std::uint16_t max) {
  const auto answer = impl_->call(BinaryOp::list_sources, queue, [&](std::string& out) {
    return put_checked(out, payload::ListSources{after, max});
  });
  if (!answer) return std::unexpected(answer.error());
  QueueList list;
  if (!client::take_names(answer->payload, list)) return failed(Code::bad_answer);
  return list;
}

Client::Result<std::uint32_t> Client::start_move(const Queue& source, std::string_view destination,
                                                 std::uint32_t rate) {
  const auto answer = impl_->call(BinaryOp::start_move, source, [&](std::string& out) {
    return put_checked(out, payload::StartMove{destination, rate});
  });
  return number_in(answer, &payload::TaskNumber::number);
}

Client::Result<std::uint64_t> Client::cancel_move(const Queue& source, std::uint32_t number) {
  const auto answer = impl_->call(BinaryOp::cancel_move, source, [&](std::string& out) {
    put_struct(out, payload::TaskNumber{number});
    return Code::ok;
  });
  return number_in(answer, &payload::TaskCount::messages);
}

Client::Result<std::vector<Client::Move>> Client::moves(const Queue& source) {
  const auto answer = impl_->call(BinaryOp::list_moves, source);
  if (!answer) return std::unexpected(answer.error());
  std::vector<Move> moves;
  if (!client::take_moves(answer->payload, moves)) return failed(Code::bad_answer);
  return moves;
}

Client::Result<std::uint32_t> Client::start_replay(const Queue& source,
                                                   const ReplayOptions& options) {
  const auto answer = impl_->call(BinaryOp::start_replay, source, [&](std::string& out) {
    if (is_encodable(options.destination) && !is_encodable(options.filter)) return Code::too_large;
    const Code code =
        put_checked(out, payload::StartReplay{options.destination, options.rate, options.from,
                                              options.to, options.filter});
    if (options.copies) put_struct(out, payload::ReplayFlags{replay_flag_copies});
    return code;
  });
  return number_in(answer, &payload::TaskNumber::number);
}

Client::Result<std::uint64_t> Client::cancel_replay(const Queue& source, std::uint32_t number) {
  const auto answer = impl_->call(BinaryOp::cancel_replay, source, [&](std::string& out) {
    put_struct(out, payload::TaskNumber{number});
    return Code::ok;
  });
  return number_in(answer, &payload::TaskCount::messages);
}

Client::Result<std::vector<Client::Replay>> Client::replays(const Queue& source) {
  const auto answer = impl_->call(BinaryOp::list_replays, source);
  if (!answer) return std::unexpected(answer.error());
  std::vector<Replay> replays;
  if (!client::take_replays(answer->payload, replays)) return failed(Code::bad_answer);
  return replays;
}

Client::Result<std::vector<Client::Sent>> Client::send(const Queue& queue,
                                                       std::span<const Outgoing> batch) {
  return send(queue, batch, SendOptions{});
}

Client::Result<std::vector<Client::Sent>> Client::send(const Queue& queue,
                                                       std::span<const Outgoing> batch,
                                                       const SendOptions& options) {
  if (outstanding() > 0) return failed(Code::busy);
  const auto answer = impl_->finish(submit_send(queue, batch, options));
  if (!answer) return std::unexpected(answer.error());
  std::vector<Sent> sent;
  if (!client::take_sent(answer->payload, sent) || sent.size() != batch.size())
    return failed(Code::bad_answer);
  return sent;
}

Client::Result<Client::Sent> Client::send(const Queue& queue, const Outgoing& message) {
  return send(queue, message, SendOptions{});
}

Client::Result<Client::Sent> Client::send(const Queue& queue, const Outgoing& message,
                                          const SendOptions& options) {
  const auto sent = send(queue, std::span(&message, 1), options);
  if (!sent) return std::unexpected(sent.error());
  const Code code = sent->front().code;
  if (code != Code::ok) {
    const Millis retry_after(retry_after_ms(static_cast<Status>(code)));
    return std::unexpected(Error{.code = code, .retry_after = retry_after});
  }
  return sent->front();
}

Client::Result<std::vector<Client::Message>> Client::receive(const Queue& queue,
                                                             const ReceiveOptions& options) {
  if (outstanding() > 0) return failed(Code::busy);
  const auto answer =
      impl_->finish(submit_receive(queue, options), options.wait.value_or(queue.wait));
  if (!answer) return std::unexpected(answer.error());
  std::vector<MessageView> views;
  if (!client::take_messages(answer->payload, views)) return failed(Code::bad_answer);
  return std::vector<Message>(views.begin(), views.end());
}

Client::Result<std::vector<Client::Code>> Client::delete_message(
    const Queue& queue, std::span<const Receipt> receipts) {
  if (outstanding() > 0) return failed(Code::busy);
  const auto answer = impl_->finish(submit_delete_message(queue, receipts));
  if (!answer) return std::unexpected(answer.error());
  std::vector<Code> codes;
  if (!client::take_codes(answer->payload, codes) || codes.size() != receipts.size())
    return failed(Code::bad_answer);
  return codes;
}

Client::Result<void> Client::delete_message(const Queue& queue, const Receipt& receipt) {
  const auto codes = delete_message(queue, std::span(&receipt, 1));
  if (!codes) return std::unexpected(codes.error());
  if (codes->front() != Code::ok) return failed(codes->front());
  return {};
}

Client::Result<void> Client::change_visibility(const Queue& queue, const Receipt& receipt,
                                               Millis visibility) {
  if (outstanding() > 0) return failed(Code::busy);
  return only_code_in(
      impl_->finish(submit_change_visibility(queue, std::span(&receipt, 1), visibility)));
}

Client::Result<void> Client::return_uncounted(const Queue& queue, const Receipt& receipt,
                                              Millis wait) {
  return only_code_in(impl_->call(BinaryOp::return_uncounted, queue, [&](std::string& out) {
    client::put_receipts(out, std::span(&receipt, 1), wait);
    return Code::ok;
  }));
}

Client::Result<std::vector<Client::Cancelled>> Client::cancel(const Queue& queue,
                                                              std::span<const MessageId> ids,
                                                              bool even_in_flight) {
  const std::uint8_t flags = even_in_flight ? cancel_flag_even_in_flight : 0;
  const auto answer = impl_->call(BinaryOp::cancel, queue, [&](std::string& out) {
    return put_rows(out, ids, [flags](const MessageId& id) { return payload::Cancel{id, flags}; });
  });
  if (!answer) return std::unexpected(answer.error());
  std::vector<Cancelled> outcomes;
  if (!client::take_cancelled(answer->payload, outcomes) || outcomes.size() != ids.size())
    return failed(Code::bad_answer);
  return outcomes;
}

Client::Result<std::vector<Client::Code>> Client::reschedule(const Queue& queue,
                                                             std::span<const MessageId> ids,
                                                             Millis delay) {
  const auto delay_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(delay.count(), 0));
  const auto answer = impl_->call(BinaryOp::reschedule, queue, [&](std::string& out) {
    return put_rows(out, ids,
                    [delay_ms](const MessageId& id) { return payload::Reschedule{id, delay_ms}; });
  });
  if (!answer) return std::unexpected(answer.error());
  std::vector<Code> codes;
  if (!client::take_codes(answer->payload, codes) || codes.size() != ids.size())
    return failed(Code::bad_answer);
  return codes;
}

// --- without a connection ---

std::string_view Client::name_of(Code code) {
  switch (code) {
    case Code::would_block:
      return "would_block";
    case Code::busy:
      return "busy";
    case Code::timed_out:
      return "timed_out";
    case Code::broken:
      return "broken";
    case Code::unreachable:
      return "unreachable";
    case Code::bad_answer:
      return "bad_answer";
    case Code::untrusted:
      return "untrusted";
    case Code::closed:
      return "closed";
    default:
      return pawl::name_of(static_cast<Status>(code));
  }
}

std::string Client::to_string(const MessageId& id) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(digits[id[i] >> 4]);
    text.push_back(digits[id[i] & 15]);
  }
  return text;
}

std::vector<Client::Attribute> Client::attributes_of(std::string_view encoded) {
  std::vector<Attribute> attributes;
  BinaryReader in(encoded);
  while (in.left() > 0) {
    Attribute attribute;
    attribute.name = in.take_short();
    attribute.type = in.take_bytes(in.take<std::uint8_t>());
    in.take<std::uint8_t>();  // kind: implied by the type
    attribute.value = in.take_long();
    if (!in.ok()) break;
    attributes.push_back(attribute);
  }
  return attributes;
}

Client::Message::Message(const MessageView& view) : MessageView(view) {
  std::string_view* const parts[] = {&body,  &encoded_attributes, &encoded_system,
                                     &group, &deduplication_id,   &origin};
  std::size_t size = 0;
  for (const std::string_view* part : parts) size += part->size();
  bytes_ = std::make_unique<char[]>(size);
  char* at = bytes_.get();
  for (std::string_view* part : parts) {
    std::copy(part->begin(), part->end(), at);
    *part = {at, part->size()};
    at += part->size();
  }
  CHECK(at == bytes_.get() + size, "{} bytes are copied of {}", at - bytes_.get(), size);
}

}  // namespace pawl
