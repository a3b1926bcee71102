// SPDX-License-Identifier: Apache-2.0
// The compiled tree of a filter policy: nodes of keys, each with a choice of matchers.
//
//   FilterNode -> fields -> key and FilterChoices -> FilterMatcher
//                        \-> key and nested FilterNode, for an object in a body
//              -> ors -> FilterNode
//
// filter_policy.cc walks the tree with a message; read_filter_tree() makes it.
//
// Units:  comparisons of short texts, some 25 instructions each.
// Errors: read_filter_tree() returns false, and `why` has the reason.
// Owner:  values. A FilterValue points into the message.
// Source: SNS Developer Guide, "Amazon SNS subscription filter policies".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "proto/text/json_dom.h"
#include "proto/text/network.h"

namespace pawl {

// A message's value under a key.
struct FilterValue {
  enum class Kind : std::uint8_t { text, number, truth, null };
  Kind kind = Kind::null;
  std::string_view text;
  double number = 0;
  bool truth = false;

  // Nothing for a list or an object.
  static std::optional<FilterValue> of(const JsonValue& json);
};

struct FilterMatcher;

// Hash of texts with a random seed of the process, so that a client cannot choose colliding texts.
struct FilterTextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const;
};

// Alternative matchers, one of which must match. Exact texts are looked up in one hash set.
class FilterChoices {
 public:
  FilterChoices();
  explicit FilterChoices(std::vector<FilterMatcher> matchers);
  ~FilterChoices();
  FilterChoices(FilterChoices&&) noexcept;
  FilterChoices& operator=(FilterChoices&&) noexcept;

  bool any(const FilterValue& value) const;
  bool any_of_absence() const;  // true if {"exists": false} is a choice
  std::size_t size() const;
  std::size_t memory() const;  // bytes besides its own size
  // Maximum comparisons with one value.
  std::size_t cost() const { return cost_; }

 private:
  std::unordered_set<std::string, FilterTextHash, std::equal_to<>> texts_;
  std::vector<FilterMatcher> others_;
  std::size_t cost_ = 0;
};

struct FilterMatcher {
  enum class Kind : std::uint8_t {
    text,
    number,
    truth,
    null,
    prefix,
    suffix,
    ignore_case,
    numeric,  // low .. high; low_open and high_open exclude the ends
    exists,   // truth: the key must exist; false: it must not
    network,
    anything_but,  // none of `not_these`
  };
  Kind kind = Kind::null;
  std::string text;
  bool truth = false;
  bool low_open = false, high_open = false;
  double low = 0, high = 0;
  Network network;
  FilterChoices not_these;

  // Approximate cost, in comparisons of short texts.
  std::size_t cost() const;
  bool matches(const FilterValue& value) const;
  bool is_within(double number) const;
};

// Numbers are compared with five digits after the point.
double five_digits(double number);

// The comparisons of one message with one policy so far. Beyond the limit, matching stops and the
// result is void.
struct FilterEffort {
  std::size_t comparisons_max = 0;
  std::size_t comparisons = 0;

  void add(std::size_t more) { comparisons += more; }
  bool over() const { return comparisons > comparisons_max; }
};

struct FilterNode {
  struct Field {
    std::string key;
    FilterChoices choices;               // for a leaf
    std::unique_ptr<FilterNode> nested;  // for an object in a body
  };
  std::vector<Field> fields;                 // all must match
  std::vector<std::vector<FilterNode>> ors;  // in each, one node must match

  std::size_t memory() const;  // bytes besides its own size

  // A Source has four functions: `each(key, visit)` calls visit(FilterValue) until it returns
  // true, and returns whether it did; `there(key)` returns whether the key exists (a binary
  // attribute, null and an empty value count as missing); `into(key, node)` returns whether the
  // nested object matches; `can_lack()` returns whether the absence of a key can match at all.
  template <typename Source>
  bool matches(const Source& source) const {
    return std::ranges::all_of(fields, [&](const Field& f) { return matches(f, source); }) &&
           std::ranges::all_of(ors, [&](const std::vector<FilterNode>& choices) {
             return std::ranges::any_of(choices,
                                        [&](const FilterNode& n) { return n.matches(source); });
           });
  }
  template <typename Source>
  static bool matches(const Field& field, const Source& source) {
    if (field.nested) return source.into(field.key, *field.nested);
    const auto any = [&](const FilterValue& value) {
      source.effort.add(field.choices.cost());
      return field.choices.any(value) || source.effort.over();
    };
    if (source.each(field.key, any)) return true;
    return field.choices.any_of_absence() && source.can_lack() && !source.there(field.key);
  }
};

struct FilterLimits {
  std::size_t keys_max = 0;
  std::size_t combinations_max = 0;  // of values; also values of one "anything-but"
  bool nested = false;               // the policy may have objects under its keys
};

// Makes the tree of a policy, which must be an object.
[[nodiscard]] bool read_filter_tree(const JsonValue& policy, const FilterLimits& limits,
                                    FilterNode& to, std::string& why);

}  // namespace pawl
