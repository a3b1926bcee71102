// SPDX-License-Identifier: Apache-2.0
// Members: the members of a call of pawl's API, which are texts, numbers and lists of texts.
//
// Unlike SQS, the API refuses members that it does not know: a mistyped one would change the
// result.
//
// Limits: those that the caller names.
// Errors: the call's Refusal: InvalidParameterValue with the member, its value, the allowed values.
// Owner:  the call. Texts are valid until the next read().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/errors/sqs_errors.h"
#include "proto/text/json_value.h"

namespace pawl {

class Members {
 public:
  // Reads a JSON object with no members but the `known` ones.
  [[nodiscard]] bool read(std::string_view body, std::string_view action,
                          std::span<const std::string_view> known, Refusal& refusal);

  // `value` keeps its default without the member.
  [[nodiscard]] bool text(std::string_view name, std::string_view& value, Refusal& refusal) const;
  [[nodiscard]] bool number(std::string_view name, std::uint64_t least, std::uint64_t most,
                            std::uint64_t& value, Refusal& refusal) const;
  // The texts of a list; empty without the member.
  [[nodiscard]] bool list(std::string_view name, std::span<const std::string>& value,
                          Refusal& refusal) const;

 private:
  const JsonMember* find(std::string_view name) const;

  std::vector<JsonMember> members_;
};

// "a, b, c", for error texts.
std::string with_commas(std::span<const std::string_view> words);

}  // namespace pawl
