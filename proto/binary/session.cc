// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/session.h"

#include <algorithm>
#include <array>
#include <memory>

#include "core/base/check.h"
#include "proto/binary/api_call.h"
#include "proto/binary/greeting.h"
#include "proto/binary/message_ids.h"
#include "proto/binary/messages.h"
#include "proto/binary/queues.h"
#include "proto/binary/subscribe.h"
#include "proto/binary/tasks.h"

namespace pawl {
namespace {

// Limits of the buffers that a call keeps for its next frame; larger ones are freed.
constexpr std::size_t keep_bytes_max = 64 << 10;
constexpr std::size_t keep_entries_max = 256;
constexpr std::size_t keep_deliveries_max = 64;
const ConfigPtr no_queue;

template <typename T>
void free_beyond(T& buffer, std::size_t keep_max) {
  if (buffer.capacity() > keep_max) T().swap(buffer);
}

// The verbs. A new one is a row here, an enumerator in frames.h, and its functions.
const BinaryVerb* verb_of(std::uint8_t op) {
  using enum BinaryVerb::Handle;
  using Op = BinaryOp;
  using namespace binary;  // the functions of the verbs
  static constexpr BinaryVerb rows[] = {
      {Op::hello, none, hello},
      {Op::ping, none, ping},
      {Op::open_queue, none, open_queue},
      {Op::create_queue, none, create_queue, create_queue_result},
      {Op::delete_queue, queue, delete_queue},
      {Op::set_attributes, queue, set_attributes},
      {Op::get_attributes, queue, get_attributes, get_attributes_result},
      {Op::list_queues, none, list_queues},
      {Op::purge, queue, purge},
      {Op::stats, queue, stats, stats_result},
      {Op::get_tags, known, get_tags},
      {Op::set_tags, queue, set_tags},
      {Op::list_sources, known, list_sources},
      {Op::authenticate, none, authenticate},
      {Op::send, queue, send, nullptr, write_sent},
      {Op::receive, queue, receive, receive_result, write_deliveries},
      {Op::delete_message, queue, use_receipts, nullptr, write_receipts},
      {Op::change, queue, use_receipts, nullptr, write_receipts},
      {Op::start_move, queue, start_move, start_move_result},
      {Op::cancel_move, queue, cancel_move, cancel_move_result},
      {Op::list_moves, queue, list_moves, list_moves_result},
      {Op::start_replay, queue, start_replay, start_replay_result},
      {Op::cancel_replay, queue, cancel_replay, cancel_replay_result},
      {Op::list_replays, queue, list_replays, list_replays_result},
      {Op::subscribe, queue, subscribe, subscribe_result},
      {Op::acknowledge, queue, use_receipts, nullptr, write_receipts},
      {Op::unsubscribe, none, unsubscribe},
      {Op::send_once, queue, send, nullptr, write_sent},
      {Op::call, none, call_action},
      {Op::cancel, queue, cancel, nullptr, write_cancelled},
      {Op::reschedule, queue, reschedule, nullptr, write_receipts},
      {Op::return_uncounted, queue, use_receipts, nullptr, write_receipts},
  };
  static constexpr auto by_op = [] {
    std::array<const BinaryVerb*, 256> all{};
    for (const BinaryVerb& row : rows) all[static_cast<std::uint8_t>(row.op)] = &row;
    return all;
  }();
  return by_op[op];
}

}  // namespace

// --- BinarySession ---

std::uint32_t BinarySessionState::intern(const ConfigPtr& config, const Directory& directory) {
  CHECK(config != nullptr, "a handle for no queue");
  forget_gone(directory);
  const auto known = handles.find(raw(config->id));
  if (known != handles.end()) {
    CHECK(known->second >= 1, "handle {}", known->second);
    CHECK(known->second <= queues.size(), "handle {} of {}", known->second, queues.size());
    queues[known->second - 1].config = config;
    return known->second;
  }
  if (full()) return 0;
  queues.push_back({config, directory.find(config->id) != nullptr});
  const auto handle = static_cast<std::uint32_t>(queues.size());
  handles.emplace(raw(config->id), handle);
  CHECK(handle <= handles_max, "handle {}", handle);
  CHECK(handles.size() <= queues.size(), "{} handles of {}", handles.size(), queues.size());
  return handle;
}

// Releases the settings of deleted queues, a few per call: no one else needs them.
void BinarySessionState::forget_gone(const Directory& directory) {
  constexpr std::size_t at_once = 16;
  for (std::size_t left = std::min(at_once, queues.size()); left > 0; --left) {
    looked_at = (looked_at + 1) % queues.size();
    Opened& opened = queues[looked_at];
    if (opened.config == nullptr) continue;
    const ConfigPtr* const current = directory.find(opened.config->id);
    if (current != nullptr) {
      opened = {*current, true};
    } else if (opened.known) {
      CHECK(handles.erase(raw(opened.config->id)) == 1, "queue {} had no handle",
            raw(opened.config->id));
      opened.config.reset();
    }
  }
}

bool BinarySessionState::expects(BinaryOp op) const {
  if (greeted) return op != BinaryOp::hello && op != BinaryOp::authenticate;
  return op == (challenged ? BinaryOp::authenticate : BinaryOp::hello);
}

const ConfigPtr* BinarySessionState::queue(std::uint32_t handle) const {
  return handle >= 1 && handle <= queues.size() ? &queues[handle - 1].config : nullptr;
}

bool BinarySession::may_stay(const Keyring* keys) const {
  if (!state_.challenged || !state_.greeted) return true;
  return keys != nullptr && keys->holds(state_.key.id_digest, state_.key.print);
}

// --- BinaryCall ---

BinaryNext BinaryCall::begin(BinarySession& connection, std::string_view frame,
                             const Directory& directory, const BinarySettings& config) {
  BinarySessionState& session = connection.state_;
  BinaryCallState& s = state_;
  CHECK(s.empty && s.subscription == nullptr, "a call in flight begins again");
  s.empty = false;
  s.status = Status::ok;
  s.detail = no_detail;
  s.config = &config;
  s.groups = session.groups;
  s.reasons = session.minor >= reasons_minor;
  s.undelivering = false;
  s.answer_bytes_max = SIZE_MAX;
  s.wait_later = Duration{0};
  s.answer.clear();
  s.request.home = config.home;
  s.header = FrameHeader{};
  s.verb = nullptr;
  s.frame.assign(frame);

  const auto header = s.frame.size() < frame_header_bytes ? std::nullopt : parse_header(s.frame);
  if (!header) return s.hang_up(Status::bad_frame);
  s.header = *header;
  const auto payload = payload_of(s.header, s.frame);
  if (!payload) return s.hang_up(payload.error());
  if ((s.header.flags & ~flag_checksum) != 0 || s.header.status != 0)
    return session.greeted ? s.refuse(Status::bad_frame) : s.hang_up(Status::bad_frame);
  const auto op = static_cast<BinaryOp>(s.header.op);
  if (!session.expects(op)) return s.hang_up(Status::out_of_order);
  s.verb = verb_of(s.header.op);
  if (s.verb == nullptr) return s.refuse(Status::unknown_op);
  if (session.refuses_sends && (op == BinaryOp::send || op == BinaryOp::send_once))
    return s.refuse(Status::no_memory);
  BinaryReader in(*payload);
  return run(session, in, directory, config);
}

BinaryNext BinaryCall::run(BinarySessionState& session, BinaryReader& in,
                           const Directory& directory, const BinarySettings& config) {
  BinaryCallState& s = state_;
  const BinaryVerb& verb = *s.verb;
  if (verb.handle == BinaryVerb::Handle::none)
    return verb.begin(s, {session, directory, config, in, no_queue});
  const ConfigPtr* opened = session.queue(s.header.queue);
  if (!opened) return s.refuse(Status::bad_handle);
  if (*opened == nullptr) return s.refuse(Status::no_such_queue);
  // This shard may not know the queue yet, or it is deleted: the owner knows which, and responds.
  const ConfigPtr* current = directory.find((*opened)->id);
  if (current) opened = current;
  if (!current && verb.handle == BinaryVerb::Handle::known) return s.refuse(Status::no_such_queue);
  s.request.queue = (*opened)->id;
  return verb.begin(s, {session, directory, config, in, *opened});
}

BinaryNext BinaryCall::resume(BinarySession& session, const Directory& directory,
                              const BinarySettings&) {
  BinaryCallState& s = state_;
  if (s.api != nullptr) return binary::resume_action(s);
  CHECK(s.request.op != Op::none, "a call that routed nothing is resumed");
  // Messages that could not be returned become visible at their timeout.
  if (s.undelivering) return binary::delivered(s);
  // A waiting receive also waits while the in-flight limit is reached.
  if (s.request.error == Errc::over_in_flight && s.wait_later != Duration{0}) {
    s.request.error = Errc::ok;
    return binary::wait_for_some(s);
  }
  if (s.request.error != Errc::ok) {
    if (s.subscription != nullptr) return end_subscription(session, status_of(s.request.error));
    const bool differs = s.request.error == Errc::queue_exists;
    return s.refuse(status_of(s.request.error),
                    differs ? static_cast<std::uint32_t>(s.request.differing) : no_detail);
  }
  if (s.verb->resumed == nullptr) return BinaryNext::respond;
  return s.verb->resumed(s, session.state_, directory);
}

void BinaryCall::write_response(std::string& out) {
  BinaryCallState& s = state_;
  if (s.status != Status::ok) {
    write_refusal(out, s.header, s.status, s.detail);
  } else {
    FrameHeader header = s.header;
    if (s.subscription != nullptr) header.op = static_cast<std::uint8_t>(BinaryOp::deliver);
    header.flags = static_cast<std::uint8_t>(s.header.flags | flag_answer);
    const std::size_t begin = begin_frame(out, header);
    write_payload(out);
    finish_frame(out, begin);
  }
  s.trim();
}

void BinaryCall::write_payload(std::string& out) const {
  const BinaryCallState& s = state_;
  if (!s.answer.empty()) {
    out.append(s.answer);
    return;
  }
  if (s.subscription != nullptr) return binary::write_deliveries(s, out);
  if (s.verb->write != nullptr) s.verb->write(s, out);
}

// Inlined, it would cost each call that has no action eleven instructions.
[[gnu::noinline, gnu::cold]] std::size_t BinaryCall::api_memory() const {
  return state_.api->memory();
}

std::size_t BinaryCall::capacity() const {
  const BinaryCallState& s = state_;
  const auto bytes = [](const auto& buffer) { return buffer.capacity() * sizeof buffer[0]; };
  const std::size_t own = bytes(s.frame) + bytes(s.answer) + bytes(s.envelopes) +
                          bytes(s.prechecks) + bytes(s.sends) + bytes(s.digests) +
                          bytes(s.receipts) + bytes(s.deliveries) + bytes(s.request.route.copied);
  return s.api == nullptr ? own : own + api_memory();
}

BinaryNext BinaryCall::push(BinarySession& session, const Directory& directory,
                            const BinarySettings& config) {
  return binary::push(state_, session.state_, directory, config);
}

bool BinaryCall::widen() { return binary::widen(state_); }

BinaryNext BinaryCall::end_subscription(BinarySession& session, Status status) {
  return binary::end_subscription(state_, session.state_, status);
}

// --- BinaryCallState ---

BinaryCallState::BinaryCallState() = default;
BinaryCallState::~BinaryCallState() = default;

BinaryNext BinaryCallState::refuse(Status why, std::uint32_t about) {
  CHECK(why != Status::ok, "a refusal without a reason");
  status = why;
  detail = about;
  return BinaryNext::respond;
}

BinaryNext BinaryCallState::hang_up(Status why) {
  CHECK(why != Status::ok, "a refusal without a reason");
  status = why;
  return BinaryNext::close;
}

BinaryNext BinaryCallState::route(Op op, ShardId to) {
  CHECK(op != Op::none, "a call without an operation is routed");
  CHECK(status == Status::ok, "a refused call is routed");
  request.op = op;
  target = to;
  return BinaryNext::route;
}

// Makes it anew in place, which costs a third of an assignment. The buffer of copies stays.
void BinaryCallState::renew() {
  std::string copied;
  copied.swap(request.route.copied);
  copied.clear();
  std::destroy_at(&request);
  std::construct_at(&request);
  request.route.copied.swap(copied);
}

void BinaryCallState::trim() {
  free_beyond(frame, keep_bytes_max);
  free_beyond(answer, keep_bytes_max);
  free_beyond(envelopes, keep_bytes_max);
  free_beyond(prechecks, keep_entries_max);
  free_beyond(sends, keep_entries_max);
  free_beyond(digests, keep_entries_max);
  free_beyond(receipts, keep_entries_max);
  free_beyond(deliveries, keep_deliveries_max);
  renew();
  api.reset();
  routed = &request;
  replay.reset();
  described.reset();
  empty = true;
}

}  // namespace pawl
