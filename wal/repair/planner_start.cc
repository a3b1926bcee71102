// SPDX-License-Identifier: Apache-2.0
// RepairPlanner: reads the log as recovery will, and appends the missing records.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "core/base/check.h"
#include "wal/format/records.h"
#include "wal/repair/frames.h"
#include "wal/repair/planner.h"

namespace pawl {
namespace {

// The smallest records of a message and of a queue's settings: they bound the number of records
// that lost bytes can have held.
constexpr std::uint64_t send_bytes_least = 32, config_bytes_least = 128;

}  // namespace

// --- the result of a recovery ---

Result<void> RepairPlanner::read_as_a_start() {
  CHECK(last_.has_value() == !log_.empty(), "{} frames", log_.size());
  CHECK(!last_ || end_of(*last_) == tail_, "the last frame ends at {}, the log at {}",
        last_ ? end_of(*last_) : 0, tail_);
  const auto read = [&](const LogFrameHeader& frame) -> Result<void> {
    const auto bytes = content_.from(frame.lsn);
    if (!bytes) return std::unexpected(bytes.error());
    start_.at(frame.lsn + log_frame_header_bytes);
    return decode_records(records_of(*bytes, frame), frame.records, at_.stream, start_);
  };
  if (manifest_.checkpoint != 0) start_.begin(Known::Part::checkpoint);
  for (const auto& [frame, rebuilt] : log_) {
    if (frame.lsn < manifest_.checkpoint || frame.lsn >= manifest_.checkpoint_end) continue;
    if (auto done = read(frame); !done) return done;
  }
  start_.begin(Known::Part::log);
  if (before_) start_.go_on_from(*before_);
  if (manifest_.checkpoint == 0 && manifest_.first == 0) start_.from_the_first();
  for (const auto& [frame, rebuilt] : log_) {
    if (frame.lsn < begin()) continue;
    if (rebuilt) start_.damaged();
    if (auto done = read(frame); !done) return done;
  }
  if (doubtful_ || lost_checkpoint_bytes_ > 0) {
    if (auto found = find_forgotten(); !found) return found;
  }
  return find_lost();
}

bool RepairPlanner::served(QueueId id) const {
  if (request_.queues) return request_.queues->contains(id);
  if (start_.live(id)) return true;
  return std::ranges::any_of(forgotten_settings_,
                             [&](const ConfigRecord& r) { return r.config->id == id; });
}

Result<bool> RepairPlanner::readable(QueueId queue, Seq seq, LogPos position) {
  const auto bytes = content_.from(position);
  if (!bytes) return std::unexpected(bytes.error());
  if (!is_whole_message(*bytes, at_.stream)) return false;
  const StoredMessage message = trusted_message(bytes->data(), queue);
  return message.queue == queue && message.seq == seq;
}

// Finds lost messages: unreadable ones that recovery would list, and numbers without a SEND.
Result<void> RepairPlanner::find_lost() {
  std::vector<std::pair<LogPos, std::pair<QueueId, Seq>>> by_position;
  CHECK(unreadable_.empty(), "lost messages of {} queues were found before", unreadable_.size());
  MessageList without_queue, missing;
  for (const auto& [id, queue] : start_.queues()) {
    const bool is_served = served(id);
    for (const auto& [seq, position] : queue.messages) {
      if (is_served)
        by_position.push_back({
            position, {id, seq}
        });
      if (!is_served) without_queue[id].insert(seq);
    }
    if (is_served && !queue.missing.empty()) missing[id] = queue.missing;
  }
  std::ranges::sort(by_position);
  for (const auto& [position, message] : by_position) {
    const auto is_readable = readable(message.first, message.second, position);
    if (!is_readable) return std::unexpected(is_readable.error());
    if (!*is_readable) unreadable_[message.first].insert(message.second);
  }
  const auto say = [&](const MessageList& list, const char* what) {
    for (const auto& [id, seqs] : list)
      plan_.said.push_back(fmt::format(fmt::runtime(what), seqs.size(), seqs.size() == 1 ? "" : "s",
                                       raw(id), numbers(seqs)));
  };
  say(unreadable_, "lost: {} message{} of queue {}, damaged where it is: {}");
  say(missing, "lost: {} message{} of queue {}, by the numbers that are missing: {}");
  if (lost_bytes_ > 0 || request_.settings_lost)
    say(without_queue,
        "not served: {} message{} of queue {}, whose settings are not there (deleted, or lost): "
        "{}");
  for (const MessageList* list : {&unreadable_, &missing})
    for (const auto& [id, seqs] : *list) plan_.lost += seqs.size();
  return {};
}

// Finds settings and messages that the damaged part of the checkpoint may have listed: they are
// readable, and no readable record deletes them.
Result<void> RepairPlanner::find_forgotten() {
  for (const auto& [id, config] : all_.configs()) {
    const bool known = start_.configs().contains(id);
    if (!known && !config.gone && !request_.queues) forgotten_settings_.push_back(config);
  }
  for (const auto& [id, queue] : all_.queues()) {
    if (!served(id)) continue;
    const Known::Queue* const there = start_.find(id);
    for (const auto& [seq, position] : queue.messages) {
      if (position >= begin() || (there && (there->messages.contains(seq) || seq < there->low)))
        continue;
      const auto is_readable = readable(id, seq, position);
      if (!is_readable) return std::unexpected(is_readable.error());
      if (!*is_readable) continue;
      const bool added = forgotten_[id].insert(seq).second;
      CHECK(added, "message {} of queue {} was found before", seq, raw(id));
      forgotten_at_[{id, seq}] = position;
    }
  }
  for (const ConfigRecord& record : forgotten_settings_)
    plan_.said.push_back(fmt::format("back, as they once were: the settings of queue {} {}",
                                     raw(record.config->id), record.config->name));
  for (const auto& [id, seqs] : forgotten_)
    plan_.said.push_back(
        fmt::format("back, also if it was deleted: {} message{} of queue {}, written again: {}",
                    seqs.size(), seqs.size() == 1 ? "" : "s", raw(id), numbers(seqs)));
  return {};
}

// --- the appended records ---

// Reserves numbers, so that no message number or queue id is assigned twice.
void RepairPlanner::append_numbers(Appendix& appendix) {
  if (lost_bytes_ == 0) return;
  std::vector<HeadRecord> heads{{}};  // an entry of no queue marks estimates (wal/repair/known.h)
  for (const auto& [id, queue] : start_.queues()) {
    if (id == QueueId::none || !served(id)) continue;
    const Known::Queue* const all = all_.find(id);
    const Seq next = std::max(queue.next, all != nullptr ? all->next : 1);
    heads.push_back({id, std::min(next + lost_bytes_ / send_bytes_least, seq_max)});
  }
  appendix.heads(heads);
  if (request_.shard != control_shard) return;
  auto config = std::make_shared<QueueConfig>();
  const std::uint32_t end =
      std::max({start_.queue_ids_end(), all_.queue_ids_end(), request_.queue_ids_end});
  config->id = QueueId{end + static_cast<std::uint32_t>(lost_bytes_ / config_bytes_least)};
  appendix.config({std::move(config), true});
}

// Deletes the queues whose log is lost, with all messages. Their ids are never used again.
void RepairPlanner::delete_queues(Appendix& appendix) {
  for (const auto& [id, record] : start_.configs()) {
    if (record.gone || !request_.lost_logs.contains(record.config->owner)) continue;
    if (!record.config->is_queue()) continue;  // it has no messages
    appendix.config({record.config, true});
    const bool planned = plan_.queues.erase(id) == 1;
    CHECK(planned, "queue {} is not in the plan", raw(id));
    plan_.said.push_back(fmt::format("queue {} ({}) goes, with its messages: they were in s{:02}",
                                     record.config->name, record.config->account,
                                     raw(record.config->owner)));
  }
}

Result<void> RepairPlanner::append_forgotten(Appendix& appendix) {
  for (const ConfigRecord& record : forgotten_settings_) appendix.config(record);
  for (const auto& [message, position] : forgotten_at_) {
    const auto bytes = content_.from(position);
    if (!bytes) return std::unexpected(bytes.error());
    const std::size_t length = record_length(bytes->data());
    appendix.copy({bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(length)});
  }
  return {};
}

Result<void> RepairPlanner::finish() {
  CHECK(!plan_.manifest && plan_.appended == UINT64_MAX, "the plan was finished before");
  if (kept_ > 0)
    plan_.said.push_back(
        fmt::format("kept of damaged frames: {} record{}, besides all that is whole", kept_,
                    kept_ == 1 ? "" : "s"));
  plan_.records_lost = lost_bytes_ > 0;
  if (made_anew_ && manifest_.durable == 0) {
    plan_.said.push_back(fmt::format(
        "{}: taken for the end of the log, for nothing vouches for more", describe(at_, tail_)));
    // Reserves the numbers of messages that may have been after the end.
    lost_bytes_ += at_.segment_bytes;
  }
  const bool stale = !made_anew_ && absence_of(manifest_, true, at_.stream, request_.membership) ==
                                        LogAbsence::another_time;
  if (stale) {
    plan_.said.push_back(fmt::format(
        "taken as it is, from start {} (the directory's last one was {}): messages sent since are "
        "lost, messages deleted since are back",
        manifest_.start, request_.membership.starts));
    lost_bytes_ += at_.segment_bytes;  // reserves the numbers assigned since
    plan_.records_lost = true;
  }
  plan_.queue_ids_end = std::max(start_.queue_ids_end(), all_.queue_ids_end());
  for (const auto& [id, config] : start_.configs())
    if (!config.gone) plan_.queues.insert(id);
  for (const ConfigRecord& record : forgotten_settings_) plan_.queues.insert(record.config->id);
  Manifest next = manifest_;
  next.epoch = std::max<std::uint64_t>(next.epoch, epoch_seen_) + 1;
  next.start = request_.membership.starts;
  Appendix appendix(content_, {.tail = tail_,
                               .last = last_ ? last_->lsn : 0,
                               .epoch = static_cast<std::uint32_t>(next.epoch),
                               .wall_ms = last_ ? last_->wall_ms : 0});
  if (auto appended = append_forgotten(appendix); !appended) return appended;
  append_numbers(appendix);
  delete_queues(appendix);
  for (const auto& [id, seqs] : unreadable_) appendix.deletes(id, seqs);
  appendix.finish();
  CHECK(appendix.begin() == 0 || appendix.begin() >= tail_, "{} {}", appendix.begin(), tail_);
  if (appendix.begin() != 0) plan_.appended = appendix.begin();
  if (appendix.begin() == 0 && !made_anew_) return {};
  next.durable = appendix.begin() != 0 ? appendix.end() : tail_;
  CHECK(next.durable >= tail_, "{} {}", next.durable, tail_);
  CHECK(next.durable % block_bytes == 0, "{}", next.durable);
  next.clean = 0;
  plan_.manifest = next;
  return {};
}

}  // namespace pawl
