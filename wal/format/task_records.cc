// SPDX-License-Identifier: Apache-2.0
#include "wal/format/task_records.h"

#include <utility>

#include "core/base/check.h"
#include "wal/format/record_codec.h"

namespace pawl {
namespace {

// Values of task failures in existing logs.
static_assert(static_cast<int>(Errc::no_such_queue) == 1 &&
              static_cast<int>(Errc::source_unknown) == 14 &&
              static_cast<int>(Errc::message_numbers_used_up) == 30);

}  // namespace

Result<void> read_task(Decoder& in, RecordSink& sink) {
  TaskRecord record;
  MoveTask& task = record.task;
  task.source = QueueId{in.fixed<std::uint32_t>()};
  task.number = in.fixed<std::uint32_t>();
  const auto status = in.fixed<std::uint8_t>();
  task.failure = static_cast<Errc>(in.fixed<std::uint8_t>());
  task.rate = in.fixed<std::uint32_t>();
  task.moved = in.fixed<std::uint64_t>();
  task.to_move = in.fixed<std::uint64_t>();
  task.started = Instant{in.fixed<std::int64_t>()};
  if (status > static_cast<std::uint8_t>(MoveTask::Status::failed))
    return fail(Errc::version, "task record");
  task.status = static_cast<MoveTask::Status>(status);
  task.destination = in.text<std::uint8_t>();
  const auto count = in.fixed<std::uint16_t>();
  Seq seq = 0;
  for (std::uint16_t i = 0; i < count && in.ok(); ++i) {
    seq = in.delta(seq) & seq_max;
    record.deleted.push_back(seq);
  }
  if (in.done()) sink.task(record);
  return {};
}

Result<void> read_replay(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  ReplayRecord record;
  ReplayTask& task = record.task;
  task.source = QueueId{in.fixed<std::uint32_t>()};
  task.number = in.fixed<std::uint32_t>();
  task.position = in.u48();
  task.sent = in.fixed<std::uint64_t>();
  task.unreadable = in.fixed<std::uint64_t>();
  record.progress = (fields & replay_progress) != 0;
  task.copies = (fields & replay_of_copies) != 0;
  if (!record.progress) {
    const auto status = in.fixed<std::uint8_t>();
    if (status > static_cast<std::uint8_t>(ReplayTask::Status::failed))
      return fail(Errc::version, "replay record");
    task.status = static_cast<ReplayTask::Status>(status);
    task.failure = static_cast<Errc>(in.fixed<std::uint8_t>());
    task.rate = in.fixed<std::uint32_t>();
    task.from = Instant{in.fixed<std::int64_t>()};
    task.to = Instant{in.fixed<std::int64_t>()};
    task.started = Instant{in.fixed<std::int64_t>()};
    task.end = in.u48();
    task.destination = in.text<std::uint8_t>();
    task.filter = in.text<std::uint16_t>();
  }
  if (in.done()) sink.replay(record);
  return {};
}

std::size_t replay_bytes(const ReplayRecord& record) {
  const std::size_t progress = head_bytes + 4 + 4 + 6 + 8 + 8;
  const std::size_t texts = 1 + record.task.destination.size() + 2 + record.task.filter.size();
  return align_record(record.progress ? progress : progress + 1 + 1 + 4 + 8 + 8 + 8 + 6 + texts);
}

std::size_t encode_replay(std::byte* out, const ReplayRecord& record, std::uint64_t stream) {
  const ReplayTask& task = record.task;
  Encoder to(out);
  to.fixed(raw(task.source));
  to.fixed(task.number);
  to.u48(log_pos(task.position));
  to.fixed(task.sent);
  to.fixed(task.unreadable);
  const std::uint16_t copies = task.copies ? replay_of_copies : 0;
  if (record.progress) return to.finish(RecordType::replay, replay_progress | copies, stream);
  to.fixed(static_cast<std::uint8_t>(task.status));
  to.fixed(static_cast<std::uint8_t>(task.failure));
  to.fixed(task.rate);
  to.fixed(task.from.ms);
  to.fixed(task.to.ms);
  to.fixed(task.started.ms);
  to.u48(log_pos(task.end));
  to.text<std::uint8_t>(task.destination);
  to.text<std::uint16_t>(task.filter);
  return to.finish(RecordType::replay, copies, stream);
}

std::size_t task_bytes_max(const MoveTask& task, std::size_t deleted) {
  return align_record(head_bytes + 4 + 4 + 1 + 1 + 4 + 8 + 8 + 8 + 1 + task.destination.size() + 2 +
                      deleted * varint_bytes_max);
}

std::size_t encode_task(std::byte* out, const MoveTask& task, std::span<const Seq> deleted,
                        std::uint64_t stream) {
  CHECK(deleted.size() <= batch_max, "{}", deleted.size());
  Encoder to(out);
  to.fixed(raw(task.source));
  to.fixed(task.number);
  to.fixed(static_cast<std::uint8_t>(task.status));
  to.fixed(static_cast<std::uint8_t>(task.failure));
  to.fixed(task.rate);
  to.fixed(task.moved);
  to.fixed(task.to_move);
  to.fixed(task.started.ms);
  to.text<std::uint8_t>(task.destination);
  to.fixed(static_cast<std::uint16_t>(deleted.size()));
  Seq before = 0;
  for (const Seq seq : deleted) to.delta(seq, std::exchange(before, seq));
  return to.finish(RecordType::task, 0, stream);
}

}  // namespace pawl
