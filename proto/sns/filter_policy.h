// SPDX-License-Identifier: Apache-2.0
// FilterPolicy: decides which of a topic's messages a subscription wants.
//
//   {"store": ["shop"], "price": [{"numeric": [">", 10]}],
//    "$or": [{"a": [1]}, {"b": [{"exists": true}]}]}
//
// All keys must match, each by one of its values. A key is compared with the attribute of the same
// name or, with scope body, with that member of the JSON body. A list in the message matches if one
// of its elements does.
//
// Limits: bytes_max, keys_max keys, combinations_max combinations of values, depth_max levels;
//         comparisons_max for one message.
// Errors: a text that describes the error in the policy. With scope body, a body that is no JSON
//         object matches no policy.
// Owner:  a value; compiled once. Matching allocates only in the JSON parser.
// Source: SNS Developer Guide, "Amazon SNS subscription filter policies".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pawl {

// A message's body for filters: parsed once, when the first policy needs it.
//
// Owner: the caller, while the text itself lives. set() keeps the parser for the next body.
class FilterBody {
 public:
  static constexpr std::size_t keep_max = 1 << 20;  // a larger parser is freed at the next parse

  explicit FilterBody(std::string_view text = {});
  ~FilterBody();
  FilterBody(FilterBody&&) noexcept;
  FilterBody& operator=(FilterBody&&) noexcept;

  void set(std::string_view text);
  std::string_view text() const { return text_; }
  bool is_parsed() const { return is_parsed_; }
  std::size_t memory() const;     // approximate bytes held
  static std::uint64_t parses();  // parses by this thread since it started

 private:
  struct Parsed;
  friend class FilterPolicy;
  const Parsed& parsed();

  std::string_view text_;
  bool is_parsed_ = false;
  std::unique_ptr<Parsed> parsed_;
};

struct FilterNode;

class FilterPolicy {
 public:
  static constexpr std::size_t bytes_max = 256 << 10;
  // The one reason that AWS gives without the name of the attribute.
  static constexpr std::string_view no_nesting =
      "Filter policy scope MessageAttributes does not support nested filter policy";
  static constexpr std::size_t keys_max = 5;
  static constexpr std::size_t combinations_max = 150;  // also values of one "anything-but"
  // Limit for one message and one policy. Each value of a list in the message is compared with the
  // values of its key; all exact texts together count as six. A comparison takes some 25
  // instructions.
  static constexpr std::size_t comparisons_max = 200'000;

  enum class Scope : std::uint8_t { attributes, body };

  // Null on error; `why` then has the reason.
  static std::shared_ptr<const FilterPolicy> parse(std::string_view text, Scope scope,
                                                   std::string& why);

  FilterPolicy();
  ~FilterPolicy();
  FilterPolicy(const FilterPolicy&) = delete;
  FilterPolicy& operator=(const FilterPolicy&) = delete;

  enum class Verdict : std::uint8_t { unwanted, wanted, too_many_comparisons };
  // `attributes` are encoded as in proto/aws/message_attributes.h. Adds its cost to `comparisons`.
  Verdict matches(std::string_view attributes, FilterBody& body, std::size_t& comparisons) const;
  std::size_t memory() const { return memory_; }  // approximate bytes held
  // For replay: also true for too_many_comparisons, so that cost never excludes a message.
  bool matches(std::string_view attributes, std::string_view body) const;

 private:
  Scope scope_ = Scope::attributes;
  std::size_t memory_ = 0;
  std::unique_ptr<FilterNode> root_;
};

}  // namespace pawl
