// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "proto/sns/filter_policy.h"
#include "proto/sns/filter_tree.h"

namespace pawl {
namespace {

constexpr double number_max = 1e9;

// The elements of a JSON list, one after the other.
class Elements {
 public:
  explicit Elements(const JsonValue& list)
      : items_(list.items()), at_(items_.begin()), left_(list.size()) {}
  std::optional<JsonValue> next() {
    if (left_ == 0) return std::nullopt;
    --left_;
    return *at_++;
  }

 private:
  decltype(std::declval<const JsonValue&>().items()) items_;
  decltype(items_.begin()) at_;
  std::size_t left_;
};

// The first token of what a list has in place of an operator.
std::string token(const std::optional<JsonValue>& element) {
  using K = JsonValue::Kind;
  if (!element) return "]";
  switch (element->kind()) {
    case K::text:
      return std::string(*element->text());
    case K::number: {
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.begin(), digits.end(), *element->number()).ptr;
      return {digits.begin(), end};
    }
    case K::truth:
      return *element->truth() ? "true" : "false";
    case K::null:
      return "null";
    case K::list:
      return "[";
    case K::object:
      return "{";
  }
  return {};
}

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
    field.nested = std::make_unique<FilterNode>();
    return read(value, *field.nested, level + 1) &&
           (limits_.nested || wrong("{}", FilterPolicy::no_nesting));
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
  // Null: the type is unknown.
  static const FilterMatcher::Kind* kind_of(std::string_view type) {
    using K = FilterMatcher::Kind;
    static constexpr std::pair<std::string_view, K> types[] = {
        {"prefix",             K::prefix     },
        {"suffix",             K::suffix     },
        {"equals-ignore-case", K::ignore_case},
        {"cidr",               K::network    },
    };
    const auto* const found =
        std::ranges::find(types, type, &std::pair<std::string_view, K>::first);
    return found == std::end(types) ? nullptr : &found->second;
  }
  bool read_text_match(std::string_view type, const JsonValue& argument, FilterMatcher& to) {
    const auto* const kind = kind_of(type);
    return kind == nullptr ? wrong("Unrecognized match type {}", type)
                           : read_kind(*kind, type, argument, to);
  }
  bool read_kind(FilterMatcher::Kind kind, std::string_view type, const JsonValue& argument,
                 FilterMatcher& to) {
    const auto text = argument.text();
    // AWS words a network's error so, too.
    if (!text) return wrong("{} match pattern must be a string", type == "cidr" ? "prefix" : type);
    to.kind = kind;
    to.text = *text;
    return kind != FilterMatcher::Kind::network || read_network(*text, to.network);
  }
  bool read_network(std::string_view text, Network& to) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos || slash + 1 == text.size() || text.find('/', slash + 1) != text.npos) {
      return wrong("Malformed CIDR, one '/' required");
    }
    const std::string_view address = text.substr(0, slash), digits = text.substr(slash + 1);
    int bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return wrong("Malformed CIDR, mask bits must be an integer");
    }
    if (bits < 0) return wrong("Malformed CIDR, mask bits must not be negative");
    if (!is_address(address)) return wrong("Nonstandard IP address: {}", address);
    const auto network = Network::parse(text);
    if (!network) {
      return wrong("{} mask bits must be at most {}", address.contains(':') ? "IPv6" : "IPv4",
                   address.contains(':') ? 128 : 32);
    }
    to = *network;
    return true;
  }
  // ["=", 1], or [">", 0], or [">", 0, "<=", 5]; the first wrong element is named.
  bool read_numeric(const JsonValue& argument, FilterMatcher& to) {
    if (!argument.is_list()) return wrong("Value of numeric must be an array.");
    to.kind = FilterMatcher::Kind::numeric;
    to.low = -number_max;
    to.high = number_max;
    Elements left(argument);
    const auto first = left.next();
    if (!first || !first->text()) {
      return wrong("Invalid member in numeric match: {}", token(first));
    }
    const std::string_view op = *first->text();
    constexpr std::string_view ops[] = {"<", "<=", "=", ">", ">="};
    if (std::ranges::find(ops, op) == std::end(ops)) {
      return wrong("Unrecognized numeric range operator: {}", op);
    }
    double number = 0;
    if (!read_number(op == "=" ? "equals" : op, left, number)) return false;
    const bool below = op.starts_with('<'), above = op.starts_with('>');
    if (!below) to.low = number;
    if (!above) to.high = number;
    to.low_open = op == ">";
    to.high_open = op == "<";
    const auto second = left.next();
    if (!second) return true;
    if (!above) return wrong("Too many elements in numeric expression");
    return read_upper_bound(*second, left, to);
  }
  bool read_upper_bound(const JsonValue& second, Elements& left, FilterMatcher& to) {
    const auto op = second.text();
    if (!op) return wrong("Bad value in numeric range: {}", token(second));
    if (*op != "<" && *op != "<=") return wrong("Bad numeric range operator: {}", *op);
    if (!read_number(*op, left, to.high)) return false;
    to.high_open = *op == "<";
    if (to.high <= to.low) return wrong("Bottom must be less than top");
    return !left.next() || wrong("Too many terms in numeric range expression");
  }
  bool read_number(std::string_view op, Elements& left, double& number) {
    const auto element = left.next();
    const auto given = element ? element->number() : std::nullopt;
    if (!given) return wrong("Value of {} must be numeric", op);
    number = *given;
    return check_number(number);
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
    if (!inner.is_list()) return read_not_this(type, inner, out.emplace_back());
    return few_enough(inner) && std::ranges::all_of(inner.items(), [&](const JsonValue& item) {
             return read_not_this(type, item, out.emplace_back());
           });
  }
  bool read_not_this(std::string_view type, const JsonValue& argument, FilterMatcher& to) {
    const auto* const kind = kind_of(type);
    return kind == nullptr ? wrong("Unsupported anything-but pattern: {}", type)
                           : read_kind(*kind, type, argument, to);
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
