// Salvage: what can be told of a damaged frame, record by record, and a whole frame of it in its place.
//
// Each record has a hash of its own. Those that are whole stay where they are, so that every position is still right; what
// lies between them becomes records that say nothing: HEADS of no queue, SETTLED of no message.
//
// Owner:  values.
// Source: wal/FORMAT.md, "A record".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "wal/format.h"

namespace pawl {

// What damaged records seem to have been: nobody vouches for it.
struct Guess {
  std::map<std::string, std::uint64_t> records;  // by type
  std::map<std::string, std::map<QueueId, std::set<Seq>>> messages;
  std::set<std::string> settings;  // "queue 3 a", as far as it can be read
  std::uint64_t untold_bytes = 0;  // in which no record can be made out

  bool empty() const { return records.empty() && untold_bytes == 0; }
  void add(const Guess& other);
};

// The bytes after a frame's header, and what is to become of them.
struct Salvage {
  std::vector<std::byte> frame;  // with room for a header; as long as its header is to say
  std::uint32_t records = 0;     // in it
  std::uint32_t kept = 0;        // of these, that were there
  std::uint64_t lost_bytes = 0;
  Guess lost;
};

// Whether a whole record is believed: one that was left from an earlier use of the file is whole, too.
using Believe = std::function<bool(std::span<const std::byte> record)>;

// `damaged` is where the frame was, header and padding and all; its header says that `told` of it are used, or is not
// believed (0). `exact`: the new frame takes the same room.
Salvage salvage_frame(std::span<const std::byte> damaged, std::size_t told, bool exact,
                      std::uint64_t stream, const Believe& believe);

}  // namespace pawl
