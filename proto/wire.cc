#include "proto/wire.h"

#include <array>

#include "core/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pawl {
namespace {

struct StatusRow {
  Status status;
  std::string_view name;
  std::uint32_t retry_after_ms = 0;
};

constexpr StatusRow statuses[] = {
    {Status::ok, "ok"},
    {Status::bad_frame, "bad_frame"},
    {Status::unknown_op, "unknown_op"},
    {Status::bad_handle, "bad_handle"},
    {Status::bad_text, "bad_text"},
    {Status::bad_attributes, "bad_attributes"},
    {Status::bad_checksum, "bad_checksum"},
    {Status::out_of_order, "out_of_order"},
    {Status::no_such_queue, "no_such_queue"},
    {Status::queue_exists, "queue_exists"},
    {Status::receipt_invalid, "receipt_invalid"},
    {Status::message_gone, "message_gone"},
    {Status::visibility_beyond_max, "visibility_beyond_max"},
    {Status::too_large, "too_large"},
    {Status::not_supported, "not_supported"},
    {Status::invalid, "invalid"},
    {Status::receipt_expired, "receipt_expired"},
    {Status::attempt_not_retryable, "attempt_not_retryable"},
    {Status::task_running, "task_running"},
    {Status::no_such_task, "no_such_task"},
    {Status::task_ended, "task_ended"},
    {Status::source_unknown, "source_unknown"},
    {Status::not_kept, "not_kept"},
    {Status::queue_ids_used_up, "queue_ids_used_up"},
    {Status::directory_full, "directory_full"},
    {Status::message_numbers_used_up, "message_numbers_used_up"},
    {Status::overloaded, "overloaded", 10},
    {Status::no_memory, "no_memory", 100},
    {Status::no_space, "no_space", 1000},
    {Status::not_ready, "not_ready", 250},
    {Status::over_in_flight, "over_in_flight", 100},
    {Status::purge_in_progress, "purge_in_progress", 60'000},
    {Status::changed_meanwhile, "changed_meanwhile", 10},
    {Status::queue_deleted_recently, "queue_deleted_recently", 60'000},
    {Status::io, "io"},
    {Status::corrupt, "corrupt"},
    {Status::version, "version"},
    {Status::unauthorized, "unauthorized"},
    {Status::protocol_version, "protocol_version"},
};

const StatusRow* find(Status status) {
  for (const StatusRow& row : statuses) {
    if (row.status == status) return &row;
  }
  return nullptr;
}

}  // namespace

Status status_of(Errc code) {
  switch (code) {
    case Errc::ok:
      return Status::ok;
    case Errc::no_such_queue:
      return Status::no_such_queue;
    case Errc::queue_exists:
      return Status::queue_exists;
    case Errc::receipt_invalid:
      return Status::receipt_invalid;
    case Errc::message_gone:
      return Status::message_gone;
    case Errc::visibility_beyond_max:
      return Status::visibility_beyond_max;
    case Errc::over_in_flight:
      return Status::over_in_flight;
    case Errc::purge_in_progress:
      return Status::purge_in_progress;
    case Errc::receipt_expired:
      return Status::receipt_expired;
    case Errc::attempt_not_retryable:
      return Status::attempt_not_retryable;
    case Errc::queue_deleted_recently:
      return Status::queue_deleted_recently;
    case Errc::message_numbers_used_up:
      return Status::message_numbers_used_up;
    case Errc::changed_meanwhile:
      return Status::changed_meanwhile;
    case Errc::task_running:
      return Status::task_running;
    case Errc::no_such_task:
      return Status::no_such_task;
    case Errc::task_ended:
      return Status::task_ended;
    case Errc::source_unknown:
      return Status::source_unknown;
    case Errc::not_kept:
      return Status::not_kept;
    case Errc::too_large:
      return Status::too_large;
    case Errc::queue_ids_used_up:
      return Status::queue_ids_used_up;
    case Errc::directory_full:
      return Status::directory_full;
    case Errc::not_supported:
      return Status::not_supported;
    case Errc::overloaded:
      return Status::overloaded;
    case Errc::no_memory:
      return Status::no_memory;
    case Errc::no_space:
      return Status::no_space;
    case Errc::not_ready:
      return Status::not_ready;
    case Errc::io:
      return Status::io;
    case Errc::corrupt:
      return Status::corrupt;
    case Errc::version:
      return Status::version;
    case Errc::invalid:
      return Status::invalid;
    case Errc::unauthorized:
      return Status::unauthorized;
  }
  CHECK(false, "Errc {}", static_cast<int>(code));
  return Status::io;
}

std::string_view name_of(Status status) {
  const StatusRow* row = find(status);
  return row ? row->name : "unknown";
}

std::uint32_t retry_after_ms(Status status) {
  const StatusRow* row = find(status);
  return row ? row->retry_after_ms : 0;
}

std::optional<FrameHeader> parse_header(std::string_view bytes) {
  CHECK(bytes.size() >= frame_header_bytes);
  WireReader in(bytes.substr(0, frame_header_bytes));
  FrameHeader header;
  header.length = in.take<std::uint32_t>();
  header.op = in.take<std::uint8_t>();
  header.flags = in.take<std::uint8_t>();
  header.status = in.take<std::uint16_t>();
  header.correlation = in.take<std::uint32_t>();
  header.queue = in.take<std::uint32_t>();
  const std::size_t least =
      frame_header_bytes + (header.flags & flag_checksum ? frame_checksum_bytes : 0);
  if (header.length < least || header.length > frame_bytes_max) return std::nullopt;
  return header;
}

std::expected<std::string_view, Status> payload_of(const FrameHeader& header,
                                                   std::string_view frame) {
  if (frame.size() != header.length || frame.size() < frame_header_bytes)
    return std::unexpected(Status::bad_frame);
  std::string_view payload = frame.substr(frame_header_bytes);
  if (header.flags & flag_checksum) {
    if (payload.size() < frame_checksum_bytes) return std::unexpected(Status::bad_frame);
    const std::string_view covered = frame.substr(0, frame.size() - frame_checksum_bytes);
    std::uint64_t sum = 0;
    std::memcpy(&sum, covered.end(), sizeof sum);
    if (sum != XXH3_64bits(covered.data(), covered.size()))
      return std::unexpected(Status::bad_checksum);
    payload.remove_suffix(frame_checksum_bytes);
  }
  return payload;
}

std::size_t begin_frame(std::string& out, const FrameHeader& header) {
  const std::size_t begin = out.size();
  char bytes[frame_header_bytes] = {};
  bytes[4] = static_cast<char>(header.op);
  bytes[5] = static_cast<char>(header.flags);
  std::memcpy(bytes + 6, &header.status, 2);
  std::memcpy(bytes + 8, &header.correlation, 4);
  std::memcpy(bytes + 12, &header.queue, 4);
  out.append(bytes, sizeof bytes);
  return begin;
}

void finish_frame(std::string& out, std::size_t begin) {
  const bool checksum = (static_cast<std::uint8_t>(out[begin + 5]) & flag_checksum) != 0;
  const std::size_t length = out.size() - begin + (checksum ? frame_checksum_bytes : 0);
  CHECK(length <= frame_bytes_max, "{}", length);
  const auto word = static_cast<std::uint32_t>(length);
  std::memcpy(out.data() + begin, &word, sizeof word);
  if (checksum) put<std::uint64_t>(out, XXH3_64bits(out.data() + begin, out.size() - begin));
}

void write_refusal(std::string& out, const FrameHeader& request, Status status,
                   std::uint32_t detail) {
  FrameHeader header = request;
  header.flags = static_cast<std::uint8_t>((request.flags & flag_checksum) | flag_answer);
  header.status = static_cast<std::uint16_t>(status);
  const std::size_t begin = begin_frame(out, header);
  put(out, retry_after_ms(status));
  put(out, detail);
  finish_frame(out, begin);
}

void put_short(std::string& out, std::string_view text) {
  CHECK(text.size() <= UINT16_MAX, "{}", text.size());
  put(out, static_cast<std::uint16_t>(text.size()));
  out.append(text);
}

void put_long(std::string& out, std::string_view text) {
  CHECK(text.size() <= UINT32_MAX, "{}", text.size());
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

}  // namespace pawl
