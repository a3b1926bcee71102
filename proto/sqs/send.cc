// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/base/check.h"
#include "proto/sqs/actions.h"
#include "proto/text/md5_lanes.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

// Adds entry `i` to the routed sends, or sets `refusal`.
bool add_message(SqsState& s, std::size_t i, SqsWords words, Refusal& refusal) {
  SqsEntry& entry = s.entries[i];
  SendEntry send;
  const SqsSending sending{
      .queue = *s.queue, .trace = s.trace, .now = s.now, .shift = s.config->shift, .words = words};
  if (!check_message(s.input, s.input.entries[i], sending, entry.message, send, refusal)) {
    return false;
  }
  // A sender that is the queue's own account is not stored with the message.
  if (s.config->keys != nullptr && s.account != s.queue_account) send.content.sender = s.account;
  entry.slot = static_cast<std::uint32_t>(s.sends.size());
  s.sends.push_back(send);
  return true;
}

// Hashes the bodies of the accepted entries.
void hash_bodies(SqsState& s) {
  std::array<std::string_view, sqs_entries_max> bodies;
  std::array<Md5, sqs_entries_max> digests;
  const std::size_t count = s.sends.size();
  CHECK(count <= sqs_entries_max, "{} messages", count);
  for (std::size_t i = 0; i < count; ++i) bodies[i] = s.sends[i].content.body;
  md5_each(std::span(bodies).first(count), std::span(digests).first(count));
  for (std::size_t i = 0; i < s.input.entries.size(); ++i) {
    SqsEntry& entry = s.entries[i];
    if (!entry.refusal) entry.message.body_md5 = digests[entry.slot];
  }
}

void write_message(SqsState& s, const SqsEntry& entry, SqsResult& result) {
  const SqsMessage& message = entry.message;
  const auto digest = [&result](std::string_view name, const Md5& md5) {
    result.plain(name, std::string_view(hex_text(md5)));
  };
  const std::array<char, 36> uuid =
      uuid_text(message_id(s.config->secret, s.request.queue, s.sends[entry.slot].seq));
  result.plain("MessageId", {uuid.data(), uuid.size()});
  digest("MD5OfMessageBody", message.body_md5);
  if (message.has_attributes) digest("MD5OfMessageAttributes", message.attributes_md5);
  if (message.has_system) digest("MD5OfMessageSystemAttributes", message.system_md5);
  if (!s.fifo) return;
  std::array<char, 20> number;
  write_sequence_number(number, s.sends[entry.slot].seq);
  result.plain("SequenceNumber", {number.data(), number.size()});
}

bool check_batch_ids(SqsState& s) {
  return !s.fifo || std::ranges::all_of(s.input.entries, [&](const SqsEntryInput& entry) {
    return check_fifo_ids_given(entry, *s.queue, SqsWords::batch_entry, s.refusal);
  });
}

bool check_batch_size(SqsState& s) {
  std::size_t size = 0;
  for (const SqsEntryInput& entry : s.input.entries) size += message_size(s.input, entry);
  if (size <= static_cast<std::size_t>(message_size_max)) return true;
  return s.refusal.because(F::batch_request_too_long,
                           "Batch requests cannot be longer than {} bytes. You have sent {} bytes.",
                           message_size_max, size);
}

}  // namespace

Next send_message(SqsState& s) {
  if (!add_message(s, 0, SqsWords::single, s.refusal)) return Next::respond;
  s.entries.front().message.body_md5 = md5(s.sends.front().content.body);
  s.request.sends = s.sends;
  return s.route(Op::send, s.queue->owner);
}

void send_message_result(SqsState& s, SqsResult& result) {
  write_message(s, s.entries.front(), result);
}

Next send_message_batch(SqsState& s) {
  if (!check_batch(s) || !check_batch_ids(s) || !check_batch_size(s)) return Next::respond;
  bool any = false;
  for (std::size_t i = 0; i < s.input.entries.size(); ++i) {
    any |= add_message(s, i, SqsWords::batch_entry, s.entries[i].refusal);
  }
  hash_bodies(s);
  return route_batch(s, Op::send, any);
}

void send_message_batch_result(SqsState& s, SqsResult& result) {
  write_batch(s, result, "SendMessageBatchResultEntry", write_message);
}

}  // namespace pawl::sqs
