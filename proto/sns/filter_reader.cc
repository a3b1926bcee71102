// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "proto/sns/filter_tree.h"

namespace pawl {
namespace {

constexpr double number_max = 1e9;

// Parses JSON into nodes; stops at the first error.
class FilterReader {
 public:
  FilterReader(const FilterLimits& limits, std::string& why) : limits_(limits), why_(why) {}

  bool read(const JsonValue& from, FilterNode& to, std::size_t level) {
    for (const auto [key, value] : from.members()) {
      if (key == "$or" && is_or(value)) {
        if (!read_or(value, to, level)) return false;
      } else if (!read_field(key, value, to.fields.emplace_back(), level)) {
        return false;
      }
    }
    return true;
  }
  bool check_size() {
    if (keys_ > limits_.keys_max) {
      return wrong("Filter policy can not have more than {} keys", limits_.keys_max);
    }
    return combinations_ <= limits_.combinations_max || wrong("Filter policy is too complex");
  }

 private:
  template <typename... Args>
  bool wrong(fmt::format_string<Args...> format, Args&&... args) {
    why_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  // False: "$or" is an ordinary key.
  static bool is_or(const JsonValue& value) {
    return value.is_list() && value.size() >= 2 &&
           std::ranges::all_of(value.items(), &JsonValue::is_object);
  }
  // The combinations of the branches add up.
  bool read_or(const JsonValue& value, FilterNode& to, std::size_t level) {
    to.ors.emplace_back();
    const std::size_t before = combinations_;
    std::size_t sum = 0;
    for (const JsonValue item : value.items()) {
      combinations_ = before;
      if (!read(item, to.ors.back().emplace_back(), level)) return false;
      sum += combinations_;
    }
    combinations_ = std::min(sum, limits_.combinations_max + 1);
    return true;
  }
  bool read_field(std::string_view key, const JsonValue& value, FilterNode::Field& field,
                  std::size_t level) {
    field.key = key;
    if (value.is_list()) {
      std::vector<FilterMatcher> matchers;
      if (!read_list(value, matchers)) return false;
      field.choices = FilterChoices(std::move(matchers));
      return count(field.choices.size() * level);
    }
    if (!value.is_object()) {
      return wrong("\"{}\" must be an object or an array", key);
    }
    if (!limits_.nested) {
      return wrong("Filter policy scope MessageAttributes does not support nested filter policy");
    }
    field.nested = std::make_unique<FilterNode>();
    return read(value, *field.nested, level + 1);
  }
  bool count(std::size_t values) {
    ++keys_;
    combinations_ = std::min(combinations_ * values, limits_.combinations_max + 1);
    return true;
  }
  bool read_list(const JsonValue& list, std::vector<FilterMatcher>& out) {
    if (list.size() == 0) return wrong("Empty arrays are not allowed");
    return std::ranges::all_of(list.items(), [&](const JsonValue& item) {
      return read_matcher(item, out.emplace_back());
    });
  }
  bool read_matcher(const JsonValue& from, FilterMatcher& to) {
    if (!from.is_object()) return read_exact(from, to);
    if (from.size() != 1) return wrong("Only one key allowed in match expression");
    const auto [type, argument] = *from.members().begin();
    if (type == "exists") return read_exists(argument, to);
    if (type == "numeric") return read_numeric(argument, to);
    if (type == "anything-but") return read_anything_but(argument, to);
    return read_text_match(type, argument, to);
  }
  bool read_exact(const JsonValue& from, FilterMatcher& to) {
    const auto value = FilterValue::of(from);
    if (!value) return wrong("Match value must be String, number, true, false, or null");
    to.text = value->text;
    to.low = five_digits(value->number);
    to.truth = value->truth;
    switch (value->kind) {
      case FilterValue::Kind::text:
        to.kind = FilterMatcher::Kind::text;
        return true;
      case FilterValue::Kind::number:
        to.kind = FilterMatcher::Kind::number;
        return check_number(to.low);
      case FilterValue::Kind::truth:
        to.kind = FilterMatcher::Kind::truth;
        return true;
      case FilterValue::Kind::null:
        to.kind = FilterMatcher::Kind::null;
        return true;
    }
    return true;
  }
  bool check_number(double number) {
    return (number >= -number_max && number <= number_max) ||
           wrong("Value must be between -1.0E9 and 1.0E9, inclusive");
  }
  bool read_exists(const JsonValue& argument, FilterMatcher& to) {
    const auto truth = argument.truth();
    if (!truth) return wrong("exists match pattern must be either true or false.");
    to.kind = FilterMatcher::Kind::exists;
    to.truth = *truth;
    return true;
  }
  bool read_text_match(std::string_view type, const JsonValue& argument, FilterMatcher& to) {
    using K = FilterMatcher::Kind;
    static constexpr std::pair<std::string_view, K> types[] = {
        {"prefix",             K::prefix     },
        {"suffix",             K::suffix     },
        {"equals-ignore-case", K::ignore_case},
        {"cidr",               K::network    },
    };
    const auto* const found =
        std::ranges::find(types, type, &std::pair<std::string_view, K>::first);
    if (found == std::end(types)) return wrong("Unrecognized match type {}", type);
    const auto text = argument.text();
    if (!text) return wrong("{} match pattern must be a string", type);
    to.kind = found->second;
    to.text = *text;
    if (to.kind != K::network) return true;
    const auto network = Network::parse(*text);
    if (!network) return wrong("Malformed CIDR, one '/' required");
    to.network = *network;
    return true;
  }
  // ["=", 1], or [">", 0], or [">", 0, "<=", 5]
  bool read_numeric(const JsonValue& argument, FilterMatcher& to) {
    const std::size_t size = argument.size();
    if (!argument.is_list() || size == 0 || size % 2 != 0 || size > 4) {
      return wrong("Value of numeric must be an array of operators and numbers");
    }
    to.kind = FilterMatcher::Kind::numeric;
    to.low = -number_max;
    to.high = number_max;
    auto item = argument.items().begin();
    for (std::size_t i = 0; i < size; i += 2) {
      const auto op = (*item++).text();
      if (!op) return wrong("Invalid member in numeric match: an operator is missing");
      const auto number = (*item++).number();
      if (!number) return wrong("Value of {} must be numeric", *op);
      if (!check_number(*number) || !read_bound(*op, *number, size, i, to)) return false;
    }
    return to.low <= to.high || wrong("Bottom must be less than top");
  }
  bool read_bound(std::string_view op, double number, std::size_t size, std::size_t i,
                  FilterMatcher& to) {
    if (op == "=" && size == 2) {
      to.low = to.high = number;
    } else if ((op == ">" || op == ">=") && i == 0) {
      to.low = number;
      to.low_open = op == ">";
    } else if ((op == "<" || op == "<=") && (i == 2) == (size == 4)) {
      to.high = number;
      to.high_open = op == "<";
    } else {
      return wrong("Unrecognized numeric range operator: {}", op);
    }
    return true;
  }
  // A value, a list of values, or an object such as {"prefix": ".."} with one text or a list.
  bool read_anything_but(const JsonValue& argument, FilterMatcher& to) {
    std::vector<FilterMatcher> matchers;
    if (!read_not_these(argument, matchers)) return false;
    to.kind = FilterMatcher::Kind::anything_but;
    to.not_these = FilterChoices(std::move(matchers));
    return true;
  }
  bool read_not_these(const JsonValue& argument, std::vector<FilterMatcher>& out) {
    if (argument.is_list()) {
      if (argument.size() == 0) return wrong("Empty arrays are not allowed");
      return few_enough(argument) &&
             std::ranges::all_of(argument.items(), [&](const JsonValue& item) {
               return read_exact(item, out.emplace_back());
             });
    }
    if (!argument.is_object()) return read_exact(argument, out.emplace_back());
    if (argument.size() != 1) return wrong("Only one key allowed in match expression");
    const auto [type, inner] = *argument.members().begin();
    if (!inner.is_list()) return read_text_match(type, inner, out.emplace_back());
    return few_enough(inner) && std::ranges::all_of(inner.items(), [&](const JsonValue& item) {
             return read_text_match(type, item, out.emplace_back());
           });
  }
  // Limits the list, because each value of a message is compared with all its elements.
  bool few_enough(const JsonValue& list) {
    return list.size() <= limits_.combinations_max ||
           wrong("anything-but has {} values; the limit is {}", list.size(),
                 limits_.combinations_max);
  }

  const FilterLimits& limits_;
  std::string& why_;
  std::size_t keys_ = 0;
  std::size_t combinations_ = 1;
};

}  // namespace

bool read_filter_tree(const JsonValue& policy, const FilterLimits& limits, FilterNode& to,
                      std::string& why) {
  CHECK(policy.is_object());
  FilterReader reader(limits, why);
  return reader.read(policy, to, 1) && reader.check_size();
}

}  // namespace pawl
