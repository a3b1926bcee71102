// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/salvage.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/base/check.h"
#include "wal/format/records.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

constexpr std::size_t record_head_bytes = 12;
constexpr std::size_t record_bytes_min = forget_transfer_bytes;  // with padding
constexpr std::array<const char*, 17> type_names{
    "?",     "send",    "delete",   "receive", "purge",       "settings",
    "heads", "task",    "forget",   "index",   "states",      "times",
    "dedup", "arrived", "segments", "replay",  "subscription"};

struct Head {
  std::uint8_t type = 0;
  std::size_t length = 0;
};

// The record head at the beginning of `rest`, if its values are possible.
std::optional<Head> head_in(std::span<const std::byte> rest) {
  if (rest.size() < record_head_bytes) return std::nullopt;
  const Head head{static_cast<std::uint8_t>(rest[0]), record_length(rest.data())};
  const bool possible = head.type >= 1 && head.type < type_names.size() &&
                        (rest[1] & ~std::byte{record_ignorable}) == std::byte{0} &&
                        head.length > record_head_bytes && head.length <= rest.size() &&
                        head.length <= record_bytes_max;
  return possible ? std::optional(head) : std::nullopt;
}

// The whole record at the beginning of `rest`, with its padding; empty: there is none.
std::span<const std::byte> whole_record(std::span<const std::byte> rest, std::uint64_t stream) {
  const auto head = head_in(rest);
  if (!head) return {};
  const auto record = rest.first(std::min(align_record(head->length), rest.size()));
  QuietSink quiet;
  return decode_records(record, 1, stream, quiet) ? record : std::span<const std::byte>{};
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size = sizeof(T)) {
  T value{};
  if (at + size <= bytes.size()) std::memcpy(&value, bytes.data() + at, size);
  return value;
}

// Notes the ids in a damaged record, at the offsets of wal/FORMAT.md.
void guess_record(std::span<const std::byte> record, Guess& guess) {
  const auto type = static_cast<RecordType>(record[0]);
  CHECK(static_cast<std::size_t>(type) < type_names.size(), "type {}", static_cast<int>(type));
  const std::string name = type_names[static_cast<std::size_t>(type)];
  ++guess.records[name];
  const QueueId queue{number_at<std::uint32_t>(record, 12)};
  const auto note = [&](Seq seq) { guess.messages[name][queue].insert(seq); };
  switch (type) {
    case RecordType::send:
      note(number_at<Seq>(record, 16, 6));
      break;
    case RecordType::delete_message:
    case RecordType::receive:
      note(number_at<Seq>(record, 20, 6));  // the first number: the others are distances
      break;
    case RecordType::config:
      guess.settings.insert(fmt::format("queue {}", raw(queue)));
      break;
    default:
      break;
  }
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

void guess_hole(std::span<const std::byte> hole, Guess& guess) {
  while (!hole.empty()) {
    const auto head = head_in(hole);
    if (!head) break;
    guess_record(hole, guess);
    hole = hole.subspan(std::min(align_record(head->length), hole.size()));
  }
  guess.unrecognized_bytes += hole.size();
}

// Fills `out` with records without effect. `bytes` is a multiple of 8 and not less than the
// shortest record. Where HEADS do not fit exactly, a FORGET_TRANSFER takes a part of the space.
std::uint32_t fill(std::byte* out, std::size_t bytes, std::uint64_t stream) {
  constexpr std::size_t heads_fixed = 16, entry = 10;
  CHECK(bytes % 8 == 0 && bytes >= record_bytes_min, "{}", bytes);
  const std::vector<HeadRecord> none(batch_max);
  std::uint32_t records = 0;
  for (; bytes > 0; ++records) {
    const std::size_t entries = std::min(batch_max, (bytes - heads_fixed) / entry);
    const std::size_t left = bytes - align_record(heads_fixed + entry * entries);
    const bool fits = entries > 0 && (left == 0 || left >= 2 * record_bytes_min);
    const std::size_t n = fits ? encode_heads(out, std::span(none).first(entries), stream)
                               : encode_forget_transfer(out, {}, stream);
    CHECK(n > 0 && n <= bytes, "{} of {} bytes", n, bytes);
    out += n;
    bytes -= n;
  }
  return records;
}

}  // namespace

void Guess::add(const Guess& other) {
  for (const auto& [type, count] : other.records) records[type] += count;
  for (const auto& [type, queues] : other.messages) {
    for (const auto& [queue, seqs] : queues) messages[type][queue].insert(seqs.begin(), seqs.end());
  }
  settings.insert(other.settings.begin(), other.settings.end());
  unrecognized_bytes += other.unrecognized_bytes;
}

Salvage salvage_frame(std::span<const std::byte> damaged, std::size_t told, bool exact,
                      std::uint64_t stream, const Believe& believe) {
  CHECK(damaged.size() >= log_frame_header_bytes, "a frame of {} bytes", damaged.size());
  CHECK(told <= damaged.size(), "a length of {} in {} bytes", told, damaged.size());
  Salvage result;
  result.frame.resize(damaged.size());
  const std::size_t limit = told != 0 ? told : damaged.size();
  std::size_t used = log_frame_header_bytes;
  const auto lose = [&](std::size_t end) {
    result.lost_bytes += end - used;
    guess_hole(damaged.subspan(used, end - used), result.lost);
  };
  for (std::size_t at = used; at < limit;) {
    const auto record = whole_record(damaged.subspan(at, limit - at), stream);
    const bool fits = at == used || at - used >= record_bytes_min;
    if (record.empty() || !fits || !believe(record)) {
      if (told == 0 && !exact) break;  // whole records after its end belong to other frames
      at += 8;
      continue;
    }
    if (at > used) {
      lose(at);
      result.records += fill(result.frame.data() + used, at - used, stream);
    }
    CHECK(at + record.size() <= limit, "{} bytes at {} of {}", record.size(), at, limit);
    std::ranges::copy(record, result.frame.begin() + static_cast<std::ptrdiff_t>(at));
    ++result.records;
    ++result.kept;
    used = at += record.size();
  }
  // Zeros at the end are padding, not a loss.
  std::size_t end = limit;
  const bool nothing_there = told == 0 && all_zero(damaged);
  while (told == 0 && !nothing_there && end > used && damaged[end - 1] == std::byte{0}) --end;
  if (end > used) lose(std::min(damaged.size(), align_record(end)));
  if (exact && align_up(used, block_bytes) != damaged.size()) {
    result.records += fill(result.frame.data() + used, damaged.size() - used, stream);
    used = damaged.size();
  }
  CHECK(used <= damaged.size(), "{} of {} bytes", used, damaged.size());
  CHECK(result.kept <= result.records, "{} of {} records are kept", result.kept, result.records);
  CHECK(result.lost_bytes <= damaged.size(), "{} of {} bytes are lost", result.lost_bytes,
        damaged.size());
  result.frame.resize(used);
  return result;
}

}  // namespace pawl
