// SPDX-License-Identifier: Apache-2.0
// SQS errors: names in both protocols, HTTP statuses, and refusals of calls and batch entries.
//
// The table in proto/errors/errors.cc maps each Errc to its SQS error and text.
//
// Owner:  constants; a Refusal belongs to the call and reuses the memory of its text.
// Source: SQS API Reference, "Common errors" and the errors of each action; AWS's recorded texts.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "proto/errors/errors.h"

namespace pawl {

struct SqsFaultInfo {
  std::string_view shape;  // JSON's __type, with its namespace
  std::string_view code;   // Query's Code, and in x-amzn-query-error
  std::uint16_t status;
  bool sender;  // the fault is the client's, not the server's
};
const SqsFaultInfo& info(SqsFault fault);

// The reason for refusing a call or an entry of a batch. A fault of none means not refused.
struct Refusal {
  SqsFault fault = SqsFault::none;
  std::string text;
  std::uint32_t retry_ms = 0;  // delay before a retry; 0: a retry does not help

  explicit operator bool() const { return fault != SqsFault::none; }

  void clear();

  // Sets fault and text, and returns false, so that a check can `return refusal.because(...)`.
  template <typename... Args>
  bool because(SqsFault why, fmt::format_string<Args...> format, Args&&... args) {
    fault = why;
    text.clear();
    text += fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
};

// Values inserted into the texts of the broker's errors; inapplicable ones stay empty.
struct ErrcSubjects {
  std::string_view queue;       // its name
  std::string_view attribute;   // name of the attribute that differs
  std::string_view receipt;     // as given
  std::string_view visibility;  // as given
  std::string_view attempt;     // ReceiveRequestAttemptId
  std::int64_t message_size_max = 0;
  std::int64_t visibility_max_s = 43'200;
  std::string_view in_flight_advice = {};  // message_in_flight
};

// Refuses with the SQS error and text of `code`, which must not be ok.
void refuse(Refusal& refusal, Errc code, const ErrcSubjects& about);
// Refuses a request with a missing or faulty signature; `fault` must not be none.
void refuse(Refusal& refusal, AuthFault fault, const SignatureTime& time = {});

// A client's text, cut to at most 1024 bytes for use in an error text.
std::string_view shown(std::string_view given);

inline constexpr std::string_view allowed_characters =
    "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";

}  // namespace pawl
