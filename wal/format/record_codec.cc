// SPDX-License-Identifier: Apache-2.0
#include "wal/format/record_codec.h"

#include <algorithm>

#include "core/base/mutant.h"

namespace pawl {

TransferKey read_transfer_key(Decoder& in) {
  TransferKey key;
  key.shard = ShardId{in.fixed<std::uint8_t>()};
  key.queue = QueueId{in.fixed<std::uint32_t>()};
  key.seq = in.u48();
  return key;
}

void write_transfer_key(Encoder& to, const TransferKey& key) {
  to.fixed(static_cast<std::uint8_t>(raw(key.shard)));
  to.fixed(raw(key.queue));
  to.u48(key.seq);
}

Result<RecordHead> read_head(std::span<const std::byte> bytes, std::uint64_t stream) {
  RecordHead head;
  if (bytes.size() < sizeof head) return fail(Errc::corrupt, "record head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.length < sizeof head || head.length > bytes.size() || head.length > record_bytes_max) {
    return fail(Errc::corrupt, "record length");
  }
  if (!MUTANT(skip_checksum) && record_hash(bytes.data(), head.length, stream) != head.hash) {
    return fail(Errc::corrupt, "record checksum");
  }
  return head;
}

std::optional<UnknownPart> unknown_in(const RecordHead& head) {
  const bool may_be_ignored = (head.flags & record_ignorable) != 0;
  if ((head.flags & ~record_ignorable) != 0)
    return UnknownPart{UnknownPart::Kind::flags, head.flags, true};
  const auto type = static_cast<RecordType>(head.type);
  if (head.type == 0 || head.type == reserved_record_type || type > last_record_type)
    return UnknownPart{UnknownPart::Kind::type, head.type, !may_be_ignored};
  const unsigned known = type == RecordType::send      ? known_fields
                         : type == RecordType::fan_out ? shared_fields
                         : type == RecordType::heads   ? heads_reserved
                         : type == RecordType::receive
                             ? unsigned{receive_waits} | receive_final | receive_cancelled |
                                   receive_apart | receive_expired
                         : type == RecordType::times  ? times_ends
                         : type == RecordType::replay ? unsigned{replay_progress} | replay_of_copies
                                                      : 0u;
  if ((head.fields & ~known) != 0)
    return UnknownPart{UnknownPart::Kind::fields, head.fields & ~known, true};
  return std::nullopt;
}

std::unexpected<Error> newer_version() {
  return fail(Errc::version, "a part that a newer version wrote");
}

std::string_view name_of(UnknownPart::Kind kind) {
  switch (kind) {
    case UnknownPart::Kind::type:
      return "record type";
    case UnknownPart::Kind::flags:
      return "record flags";
    case UnknownPart::Kind::fields:
      return "record fields";
    case UnknownPart::Kind::extension:
      return "extension";
  }
  return "part";
}

void write_key(Encoder& to, const TextKey& key) {
  to.fixed(key.high);
  to.fixed(key.low);
}
TextKey read_key(Decoder& in) {
  TextKey key;
  key.high = in.fixed<std::uint64_t>();
  key.low = in.fixed<std::uint64_t>();
  return key;
}

}  // namespace pawl
