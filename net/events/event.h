// SPDX-License-Identifier: Apache-2.0
// An event and its line, as text or as a JSON object.
//
//   text: pawl: shard 0: sends are refused: ...; 3 more since the last such line
//   json: {"time":"2026-01-31T12:00:00.000Z","level":"error","code":"disk_full","msg":"sends are
//         refused for lack of disk space","text":"shard 0: ...","shard":0,"suppressed":3}
//
// Units:  time is us since 1970, UTC.
// Errors: none. Bytes that JSON cannot hold become question marks, as in all error texts.
// Owner:  an Event owns its texts; the key of a field is a literal.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "net/events/event_code.h"

namespace pawl {

enum class LogFormat : std::uint8_t { text, json };

struct EventField {
  EventField(const char* name, std::string_view text) : key(name), value(std::string(text)) {}
  template <std::signed_integral T>
  EventField(const char* name, T number) : key(name), value(std::int64_t{number}) {}
  template <std::unsigned_integral T>
  EventField(const char* name, T number) : key(name), value(std::uint64_t{number}) {}

  std::string_view key;
  std::variant<std::int64_t, std::uint64_t, std::string> value;
};

//   Event{EventCode::disk_full, text}.with("shard", shard).with("path", path)
struct Event {
  template <typename Value>
  Event&& with(const char* key, const Value& value) && {
    fields.emplace_back(key, value);
    return std::move(*this);
  }

  EventCode code{};
  std::string text;  // for people: the sentence without the prefix of its line
  std::vector<EventField> fields;
  std::int64_t time_us = 0;      // set by the log
  std::uint64_t suppressed = 0;  // lines of this code that were left out before it; set by the log
};

// The time as in RFC 3339, with milliseconds: 2026-01-31T09:00:00.000Z.
std::string rfc3339(std::int64_t us);

// With the line break.
std::string line_of(const Event& event, LogFormat format);

}  // namespace pawl
