// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/frames.h"

#include <array>

#include "core/base/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pawl {
std::optional<FrameHeader> parse_header(std::string_view bytes) {
  CHECK(bytes.size() >= frame_header_bytes);
  BinaryReader in(bytes.substr(0, frame_header_bytes));
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
  CHECK(begin + frame_header_bytes <= out.size(), "from {} to {}", begin, out.size());
  const bool checksum = (static_cast<std::uint8_t>(out[begin + 5]) & flag_checksum) != 0;
  const std::size_t length = out.size() - begin + (checksum ? frame_checksum_bytes : 0);
  CHECK(length <= frame_bytes_max, "{}", length);
  const auto word = static_cast<std::uint32_t>(length);
  std::memcpy(out.data() + begin, &word, sizeof word);
  if (checksum) put<std::uint64_t>(out, XXH3_64bits(out.data() + begin, out.size() - begin));
  CHECK(out.size() - begin == length, "{} bytes of {}", out.size() - begin, length);
}

void write_refusal(std::string& out, const FrameHeader& request, Status status,
                   std::uint32_t detail) {
  CHECK(status != Status::ok, "a refusal without a reason");
  FrameHeader header = request;
  header.flags = static_cast<std::uint8_t>((request.flags & flag_checksum) | flag_answer);
  header.status = static_cast<std::uint16_t>(status);
  const std::size_t begin = begin_frame(out, header);
  put_struct(out, RefusalPayload{.retry_after_ms = retry_after_ms(status), .detail = detail});
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
