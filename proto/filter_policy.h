// FilterPolicy: which messages of a topic a subscription wants.
//
//   {"store": ["shop"], "price": [{"numeric": [">", 10]}], "$or": [{"a": [1]}, {"b": [{"exists": true}]}]}
//
// All keys must match, each by one of its values. A key looks at the attribute of that name or, with scope
// body, at the member of the body, which is JSON then; a list there matches by any of its elements.
//
// Limits: bytes_max, keys_max keys, combinations_max combinations of values, depth_max levels;
//         comparisons_max of a message.
// Errors: a text that says what is wrong with the policy. What cannot be looked into (a body that is no
//         JSON) matches no policy.
// Owner:  a value; compiled once, then matched without an allocation of its own.
// Source: SNS Developer Guide, "Amazon SNS subscription filter policies".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pawl {

// The body of a message as filters look at it: parsed once, when the first policy asks for it.
//
// Owner: the caller, as long as the text itself lives. set() keeps the parser for the next body.
class FilterBody {
 public:
  static constexpr std::size_t keep_max = 1 << 20;  // a parser of longer texts is freed by set()

  explicit FilterBody(std::string_view text = {});
  ~FilterBody();
  FilterBody(FilterBody&&) noexcept;
  FilterBody& operator=(FilterBody&&) noexcept;

  void set(std::string_view text);
  std::string_view text() const { return text_; }
  bool is_parsed() const { return is_parsed_; }
  std::size_t memory() const;     // bytes held, about
  static std::uint64_t parses();  // by this thread, since it began

 private:
  struct Parsed;
  friend class FilterPolicy;
  const Parsed& parsed();

  std::string_view text_;
  bool is_parsed_ = false;
  std::unique_ptr<Parsed> parsed_;
};

class FilterPolicy {
 public:
  static constexpr std::size_t bytes_max = 256 << 10;
  static constexpr std::size_t keys_max = 5;
  static constexpr std::size_t combinations_max = 150;  // and values of one "anything-but"
  // Of one message with one policy: each value of a list in the message with the values of its key,
  // of which all exact texts together count as six. Some 25 instructions each.
  static constexpr std::size_t comparisons_max = 200'000;

  enum class Scope : std::uint8_t { attributes, body };

  // Null, and `why` says what is wrong.
  static std::shared_ptr<const FilterPolicy> parse(std::string_view text, Scope scope,
                                                   std::string& why);

  FilterPolicy();
  ~FilterPolicy();
  FilterPolicy(const FilterPolicy&) = delete;
  FilterPolicy& operator=(const FilterPolicy&) = delete;

  enum class Verdict : std::uint8_t { unwanted, wanted, too_many_comparisons };
  // `attributes` are encoded as proto/attributes.h says. Adds to `comparisons` how many it took.
  Verdict matches(std::string_view attributes, FilterBody& body, std::size_t& comparisons) const;
  std::size_t memory() const { return memory_; }  // bytes held, about
  // Of a replay, which leaves nothing out for its cost: also true for too_many_comparisons.
  bool matches(std::string_view attributes, std::string_view body) const;

 private:
  struct Node;
  friend class FilterPolicyReader;
  Scope scope_ = Scope::attributes;
  std::size_t memory_ = 0;
  std::unique_ptr<Node> root_;
};

}  // namespace pawl
