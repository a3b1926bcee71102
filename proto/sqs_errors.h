// SQS errors: names in both protocols, HTTP statuses, and refusals of calls and batch entries.
//
// Which SQS error an Errc becomes, and its text, is a row of proto/errors.
//
// Owner:  constants; a Refusal belongs to the call and keeps its text's memory from use to use.
// Source: SQS API Reference, "Common errors" and the errors of each action; texts as recorded from AWS.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/result.h"
#include "proto/errors.h"

namespace pawl {

enum class AuthFault : std::uint8_t;  // sigv4.h

struct SqsFaultInfo {
  std::string_view shape;  // JSON's __type, with its namespace
  std::string_view code;   // Query's Code, and in x-amzn-query-error
  std::uint16_t status;
  bool sender;  // whose fault it is: the caller's or ours
};
const SqsFaultInfo& info(SqsFault fault);

// Why a call, or an entry of a batch, is refused. Not refused when the fault is none.
struct Refusal {
  SqsFault fault = SqsFault::none;
  std::string text;
  std::uint32_t retry_ms = 0;  // when to try again; 0: no use

  explicit operator bool() const { return fault != SqsFault::none; }

  void clear();

  // Says why, and returns false, for `return refusal.because(...)` in a check.
  template <typename... Args>
  bool because(SqsFault why, fmt::format_string<Args...> format, Args&&... args) {
    fault = why;
    text.clear();
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    return false;
  }
};

// What the texts of the broker's errors speak of; what does not apply stays empty.
struct ErrcSubjects {
  std::string_view queue;       // its name
  std::string_view attribute;   // the one that differs
  std::string_view receipt;     // as it was given
  std::string_view visibility;  // as it was given
  std::string_view attempt;     // ReceiveRequestAttemptId
  std::int64_t message_size_max = 0;
};

// Refuses with what `code`, not ok, is in SQS's words.
void refuse(Refusal& refusal, Errc code, const ErrcSubjects& about);
// Refuses a request whose signature, or the lack of one, is the fault; not none.
void refuse(Refusal& refusal, AuthFault fault);

// What a user gave, fit to be repeated in an error: cut where it is long.
std::string_view shown(std::string_view given);

inline constexpr std::string_view allowed_characters =
    "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";

}  // namespace pawl
