// SPDX-License-Identifier: Apache-2.0
// Form: the parameters of an application/x-www-form-urlencoded body or of a query string.
//
//   Action=SendMessage&MessageBody=a+b%2Bc  ->  ("Action", "SendMessage") ("MessageBody", "a b+c")
//
// A duplicate key is refused unless the caller allows repeats: SQS numbers its lists (Name.1,
// Name.2), so a duplicate is an ambiguity that two parsers would resolve differently. Empty pieces
// ("a=1&&b=2") are skipped; a piece without `=` has an empty value. Decoded bytes are arbitrary:
// callers check text (proto/text/text.h).
//
// Limits: params_max parameters; list numbers up to index_max. The caller limits the body's size.
// Errors: Fault. After a fault there are no parameters.
// Owner:  decoded text lives in the Form's arena and is valid until the next parse(). The arena
//         keeps its largest size: use one Form per shard, not per connection.
// Source: WHATWG URL, application/x-www-form-urlencoded; SQS Developer Guide, "Query API".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace pawl {

class Form {
 public:
  // A full SendMessageBatch has about 450: ten entries with ten attributes of three members each.
  static constexpr std::size_t params_max = 1024;
  static constexpr std::uint32_t index_max = 9999;

  struct Param {
    std::string_view key, value;
  };

  enum class Fault : std::uint8_t {
    none,
    too_many,    // more than params_max
    bad_escape,  // % without two hex digits
    duplicate,   // a key appears twice
  };

  enum class Repeats : std::uint8_t { refused, allowed };
  // With repeats allowed, find() gives any value of a repeated key; params() has all.
  Fault parse(std::string_view body, Repeats repeats = Repeats::refused);

  // In order of appearance.
  std::span<const Param> params() const { return params_; }

  // The value of a key, nullptr when absent.
  const std::string_view* find(std::string_view key) const;
  // The value of `prefix.index` or, with a member, of `prefix.index.member`.
  const std::string_view* find(std::string_view prefix, std::uint32_t index,
                               std::string_view member = {}) const;

  // The numbers N of all keys `prefix.N` and `prefix.N.<anything>`: ascending, each once, gaps
  // allowed. False when an N is 0, has leading zeros or is above index_max; `out` is then empty.
  // Keys without a digit after `prefix.` are ignored.
  [[nodiscard]] bool indexes(std::string_view prefix, std::vector<std::uint32_t>& out) const;

 private:
  void reset(std::size_t bytes);
  std::size_t lower_bound(std::string_view key) const;  // position in by_key_

  std::unique_ptr<char[]> arena_;
  std::size_t arena_bytes_ = 0;
  std::vector<Param> params_;
  std::vector<std::uint16_t> by_key_;  // indexes into params_, sorted by key
};

}  // namespace pawl
