// SPDX-License-Identifier: Apache-2.0
// Queue operations beyond messages: tags, source queues of dead letters, and tasks.
#include <algorithm>

#include "core/base/check.h"
#include "proto/aws/tags.h"
#include "proto/binary/queue_codec.h"
#include "proto/binary/session.h"
#include "proto/sns/filter_policy.h"

namespace pawl {
namespace {

bool good_filter(std::string_view text) {
  std::string why;  // unused: the binary response has no field for it
  return text.empty() || FilterPolicy::parse(text, FilterPolicy::Scope::attributes, why) != nullptr;
}

// `to` = 0 means now. Neither time is before 1970, and `to` is after `from`.
bool good_range(std::int64_t from, std::int64_t to) { return from >= 0 && (to == 0 || to > from); }

}  // namespace

BinaryCall::Next BinaryCall::get_tags(const Context& call) {
  if (!call.in.finished()) return refuse(Status::bad_frame);
  const Tags& tags = call.queue().tags;
  CHECK(tags.size() <= UINT16_MAX, "{} tags", tags.size());
  put(answer_, static_cast<std::uint16_t>(tags.size()));
  for (const auto& [key, value] : tags) {
    put_short(answer_, key);
    put_short(answer_, value);
  }
  return Next::respond;
}

// Sets some tags and deletes others; the rest is unchanged.
BinaryCall::Next BinaryCall::set_tags(const Context& call) {
  BinaryReader& in = call.in;
  Tags set;
  const Status status = binary::take_tags(in, set);
  std::vector<std::string_view> removed;
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) removed.push_back(in.take_short());
  if (!in.finished()) return refuse(Status::bad_frame);
  if (status != Status::ok) return refuse(status);
  tags_ = call.queue().tags;
  std::erase_if(tags_, [&](const auto& tag) {
    return std::ranges::find(removed, tag.first) != removed.end() ||
           std::ranges::find(set, tag.first, &Tags::value_type::first) != set.end();
  });
  tags_.insert(tags_.end(), set.begin(), set.end());
  std::ranges::sort(tags_);
  if (tags_.size() > tags_max) return refuse(Status::invalid);
  request_.tags = &tags_;
  request_.based_on = call.opened;
  return route(Op::set_attributes, control_shard);
}

void BinaryCall::put_names(const std::vector<ConfigPtr>& found, std::size_t max) {
  CHECK(max <= names_max, "{} names in a response", max);
  const std::size_t count = std::min(found.size(), max);
  put(answer_, static_cast<std::uint8_t>(found.size() > count));
  put(answer_, static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) put_short(answer_, found[i]->name);
}

BinaryCall::Next BinaryCall::list_sources(const Context& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = call.queue();
  const std::string_view after = in.take_short();
  const auto max = in.take<std::uint16_t>();
  if (!in.finished()) return refuse(Status::bad_frame);
  if (max < 1 || max > names_max) return refuse(Status::invalid);
  put_names(call.directory.sources_of(queue.account, queue.name, after, std::size_t{max} + 1), max);
  return Next::respond;
}

// --- move tasks ---

BinaryCall::Next BinaryCall::start_move(const Context& call) {
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  const QueueConfig& queue = call.queue();
  const std::string_view destination = in.take_short();
  const auto rate = in.take<std::uint32_t>();
  if (!in.finished()) return refuse(Status::bad_frame);
  if (rate > move_rate_max || directory.sources_of(queue.account, queue.name, {}, 1).empty())
    return refuse(Status::invalid);
  destination_.clear();
  if (!destination.empty()) {
    const ConfigPtr* const target = directory.find(queue.account, destination);
    if (target == nullptr) return refuse(Status::no_such_queue);
    if ((*target)->id == queue.id || (*target)->is_fifo() != queue.is_fifo())
      return refuse(Status::invalid);
    destination_ = QueueName{queue.account, destination}.text();
  }
  request_.move.destination = destination_;
  request_.move.rate = rate;
  return route(Op::start_move, queue.owner);
}

// --- replay tasks ---

BinaryCall::Next BinaryCall::start_replay(const Context& call) {
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  const QueueConfig& queue = call.queue();
  const std::string_view destination = in.take_short();
  const auto rate = in.take<std::uint32_t>();
  const auto from = in.take<std::int64_t>();
  const auto to = in.take<std::int64_t>();
  const std::string_view filter = in.take_short();
  const auto flags = in.finished() ? std::uint8_t{0} : in.take<std::uint8_t>();
  if (!in.finished() || (flags & ~replay_flag_copies) != 0) return refuse(Status::bad_frame);
  if (rate > replay_rate_max || !good_range(from, to)) return refuse(Status::invalid);
  if (filter.size() > replay_filter_bytes_max) return refuse(Status::too_large);
  if (!good_filter(filter)) return refuse(Status::invalid);
  const bool elsewhere = !destination.empty() && destination != queue.name;
  if (elsewhere) {
    const ConfigPtr* const target = directory.find(queue.account, destination);
    if (target == nullptr) return refuse(Status::no_such_queue);
    if ((*target)->is_fifo() != queue.is_fifo()) return refuse(Status::invalid);
  }
  destination_ = QueueName{queue.account, elsewhere ? destination : queue.name}.text();
  ReplayParams& asked = about_replays();
  asked.destination = destination_;
  asked.filter = filter;
  asked.rate = rate;
  asked.copies = (flags & replay_flag_copies) != 0;
  asked.from = config_->shift->engine(Instant{from});
  asked.to = config_->shift->engine(Instant{to});
  return route(Op::start_replay, queue.owner);
}

BinaryCall::Next BinaryCall::cancel_task(const Context& call) {
  const auto number = call.in.take<std::uint32_t>();
  if (!call.in.finished()) return refuse(Status::bad_frame);
  const bool move = verb_->op == BinaryOp::cancel_move;
  (move ? request_.move.number : about_replays().number) = number;
  return route(move ? Op::cancel_move : Op::cancel_replay, call.queue().owner);
}

BinaryCall::Next BinaryCall::list_replays(const Context& call) {
  if (!call.in.finished()) return refuse(Status::bad_frame);
  about_replays();
  return route(Op::list_replays, call.queue().owner);
}

// Allocates the parameters that the request points to while it is in flight.
ReplayParams& BinaryCall::about_replays() {
  replay_ = std::make_unique<ReplayParams>();
  request_.replay = replay_.get();
  return *replay_;
}

}  // namespace pawl
