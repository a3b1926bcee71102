// SPDX-License-Identifier: Apache-2.0
// Salvage: keeps the whole records of a damaged frame, in a new frame at the same place.
//
// Each record has its own hash. Whole records keep their place, so that all positions stay valid.
// The bytes between them become records without effect: HEADS of no queue, FORGET_TRANSFER of no
// message.
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

#include "core/base/ids.h"
#include "wal/format/format.h"

namespace pawl {

// The probable content of damaged records; no hash proves it.
struct Guess {
  std::map<std::string, std::uint64_t> records;  // by type name
  std::map<std::string, std::map<QueueId, std::set<Seq>>> messages;
  std::set<std::string> settings;        // "queue 3"
  std::uint64_t unrecognized_bytes = 0;  // bytes in which no record is recognizable

  bool empty() const { return records.empty() && unrecognized_bytes == 0; }
  void add(const Guess& other);
};

// A rebuilt frame, and the losses in its place.
struct Salvage {
  std::vector<std::byte> frame;  // with space for the header; its size is the header's length
  std::uint32_t records = 0;     // all records in the frame
  std::uint32_t kept = 0;        // records kept from the damaged frame
  std::uint64_t lost_bytes = 0;
  Guess lost;
};

// Whether a whole record is accepted: a record from an earlier use of the file is whole, too.
using Believe = std::function<bool(std::span<const std::byte> record)>;

// `damaged`: all bytes of the frame, with header and padding. `told`: the length in its header; 0:
// the header is not trusted. `exact`: the new frame takes the same space.
Salvage salvage_frame(std::span<const std::byte> damaged, std::size_t told, bool exact,
                      std::uint64_t stream, const Believe& believe);

}  // namespace pawl
