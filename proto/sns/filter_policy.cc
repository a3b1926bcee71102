// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/filter_policy.h"

#include <fmt/format.h>
#include <simdjson.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/usage.h"
#include "proto/aws/message_attributes.h"
#include "proto/text/network.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t depth_max = 32;
constexpr double number_max = 1e9;

using Parser = std::unique_ptr<simdjson::dom::parser>;

// `out` is valid until the parser's next parse.
bool parse_json(Parser& parser, std::string_view text, element& out) {
  if (text.empty()) return false;
  if (!parser || parser->capacity() > FilterBody::keep_max)
    parser = std::make_unique<simdjson::dom::parser>();
  if (text.size() > parser->capacity() &&
      parser->allocate(std::max<std::size_t>(text.size(), 4096), depth_max) != simdjson::SUCCESS) {
    return false;
  }
  return parser->parse(text.data(), text.size()).get(out) == simdjson::SUCCESS;
}

bool parse_json(std::string_view text, element& out) {
  thread_local Parser parser;
  return parse_json(parser, text, out);
}

// A message's value under a key.
struct Value {
  enum class Kind : std::uint8_t { text, number, truth, null };
  Kind kind = Kind::null;
  std::string_view text;
  double number = 0;
  bool truth = false;
};

std::optional<Value> value_of(const element& e) {
  Value value;
  if (e.get_string().get(value.text) == simdjson::SUCCESS) {
    value.kind = Value::Kind::text;
  } else if (e.get_double().get(value.number) == simdjson::SUCCESS) {
    value.kind = Value::Kind::number;
  } else if (e.get_bool().get(value.truth) == simdjson::SUCCESS) {
    value.kind = Value::Kind::truth;
  } else if (!e.is_null()) {
    return std::nullopt;
  }
  return value;
}

struct Matcher;

// Hash of texts with a random seed of the process, so that a client cannot choose colliding texts.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    static const std::uint64_t seed = std::random_device{}() | std::uint64_t{std::random_device{}()}
                                                                   << 32;
    return XXH3_64bits_withSeed(text.data(), text.size(), seed);
  }
};

// Alternative matchers, one of which must match. Exact texts are looked up in one hash set.
class Choices {
 public:
  Choices() = default;
  explicit Choices(std::vector<Matcher> matchers);
  bool any(const Value& value) const;
  bool any_of_absence() const;  // true if {"exists": false} is a choice
  std::size_t size() const;
  std::size_t memory() const;  // bytes besides its own size
  // Maximum comparisons with one value.
  std::size_t cost() const { return cost_; }

 private:
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts_;
  std::vector<Matcher> others_;
  std::size_t cost_ = 0;
};

struct Matcher {
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
  Choices not_these;

  // Approximate cost, in comparisons of short texts.
  std::size_t cost() const {
    if (kind == Kind::network) return 10;
    return kind == Kind::anything_but ? 1 + not_these.cost() : 1;
  }
  bool matches(const Value& value) const {
    using V = Value::Kind;
    const bool is_text = value.kind == V::text;
    switch (kind) {
      case Kind::text:
        return is_text && value.text == text;
      case Kind::number:
        return value.kind == V::number && value.number == low;
      case Kind::truth:
        return value.kind == V::truth && value.truth == truth;
      case Kind::null:
        return value.kind == V::null;
      case Kind::prefix:
        return is_text && value.text.starts_with(text);
      case Kind::suffix:
        return is_text && value.text.ends_with(text);
      case Kind::ignore_case:
        return is_text && equals_ignoring_case(value.text, text);
      case Kind::numeric:
        return value.kind == V::number && (low_open ? value.number > low : value.number >= low) &&
               (high_open ? value.number < high : value.number <= high);
      case Kind::exists:
        return truth;
      case Kind::network: {
        const auto address = is_text ? Network::parse(value.text) : std::nullopt;
        return address && address->v4 == network.v4 && network.contains(address->address);
      }
      case Kind::anything_but:
        return !not_these.any(value);
    }
    return false;
  }
};

constexpr std::size_t look_up_cost = 6;  // in comparisons

Choices::Choices(std::vector<Matcher> matchers) {
  for (Matcher& matcher : matchers) {
    if (matcher.kind == Matcher::Kind::text) {
      texts_.insert(std::move(matcher.text));
    } else {
      cost_ += matcher.cost();
      others_.push_back(std::move(matcher));
    }
  }
  if (!texts_.empty()) cost_ += look_up_cost;
}

std::size_t Choices::size() const { return texts_.size() + others_.size(); }

std::size_t Choices::memory() const {
  constexpr std::size_t node_bytes = sizeof(std::string) + 2 * sizeof(void*) + heap_block_bytes;
  std::size_t bytes = texts_.bucket_count() * sizeof(void*) + texts_.size() * node_bytes +
                      others_.capacity() * sizeof(Matcher) + 2 * heap_block_bytes;
  for (const std::string& text : texts_) bytes += memory_of(text);
  for (const Matcher& matcher : others_)
    bytes += memory_of(matcher.text) + matcher.not_these.memory();
  return bytes;
}

bool Choices::any(const Value& value) const {
  if (value.kind == Value::Kind::text && texts_.contains(value.text)) return true;
  return std::ranges::any_of(others_, [&](const Matcher& m) { return m.matches(value); });
}

bool Choices::any_of_absence() const {
  return std::ranges::any_of(
      others_, [](const Matcher& m) { return m.kind == Matcher::Kind::exists && !m.truth; });
}

// The comparisons of one message with one policy so far. Beyond the limit, matching stops and the
// result is void.
struct Effort {
  std::size_t comparisons = 0;

  void add(std::size_t more) { comparisons += more; }
  bool over() const { return comparisons > FilterPolicy::comparisons_max; }
};

constexpr std::size_t parsed_a_comparison = 2;  // bytes of JSON that cost one comparison to parse

}  // namespace

struct FilterPolicy::Node {
  struct Field {
    std::string key;
    Choices choices;               // for a leaf
    std::unique_ptr<Node> nested;  // for an object in a body
  };
  std::vector<Field> fields;           // all must match
  std::vector<std::vector<Node>> ors;  // in each, one node must match

  // Bytes besides its own size.
  std::size_t memory() const {
    std::size_t bytes = fields.capacity() * sizeof(Field) +
                        ors.capacity() * sizeof(std::vector<Node>) + 2 * heap_block_bytes;
    for (const Field& field : fields) {
      bytes += memory_of(field.key) + field.choices.memory();
      if (field.nested) bytes += sizeof(Node) + heap_block_bytes + field.nested->memory();
    }
    for (const std::vector<Node>& choices : ors) {
      bytes += choices.capacity() * sizeof(Node) + heap_block_bytes;
      for (const Node& node : choices) bytes += node.memory();
    }
    return bytes;
  }

  // A Source has three functions: `each(key, visit)` calls visit(Value) until it returns true, and
  // returns whether it did; `there(key)` returns whether the key exists (a binary attribute counts
  // as missing); `into(key, node)` returns whether the nested object matches.
  template <typename Source>
  bool matches(const Source& source) const {
    return std::ranges::all_of(fields, [&](const Field& f) { return matches(f, source); }) &&
           std::ranges::all_of(ors, [&](const std::vector<Node>& choices) {
             return std::ranges::any_of(choices, [&](const Node& n) { return n.matches(source); });
           });
  }
  template <typename Source>
  static bool matches(const Field& field, const Source& source) {
    if (field.nested) return source.into(field.key, *field.nested);
    const auto any = [&](const Value& value) {
      source.effort.add(field.choices.cost());
      return field.choices.any(value) || source.effort.over();
    };
    if (source.each(field.key, any)) return true;
    return !source.there(field.key) && field.choices.any_of_absence();
  }
};

namespace {

// Visits the values of a list and of its nested lists. The parser limits the depth.
template <typename Visit>
bool each_value(const element& e, Effort& effort, const Visit& visit) {
  array list;
  effort.add(1);
  if (e.get_array().get(list) == simdjson::SUCCESS) {
    return std::ranges::any_of(
        list, [&](const element& item) { return each_value(item, effort, visit); });
  }
  const auto value = value_of(e);
  return value && visit(*value);
}

struct AttributeSource {
  std::string_view encoded;
  Effort& effort;

  bool find(std::string_view key, MessageAttribute& out) const {
    AttributeReader reader(encoded);
    while (reader.next(out)) {
      effort.add(1);
      if (out.name == key) return out.kind == AttributeKind::text;
    }
    return false;
  }
  bool there(std::string_view key) const {
    MessageAttribute found;
    return find(key, found);
  }
  template <typename Visit>
  bool each(std::string_view key, const Visit& visit) const {
    MessageAttribute found;
    if (!find(key, found)) return false;
    if (found.type == "String.Array") {
      element list;
      effort.add(found.value.size() / parsed_a_comparison);
      return parse_json(found.value, list) && each_value(list, effort, visit);
    }
    Value value{.kind = Value::Kind::text, .text = found.value};
    if (found.type.starts_with("Number")) {
      value.kind = Value::Kind::number;
      std::string_view digits = found.value;
      if (digits.starts_with('+')) digits.remove_prefix(1);  // std::from_chars accepts no plus
      std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    }
    return visit(value);
  }
  template <typename Node>
  bool into(std::string_view, const Node&) const {
    return false;  // the reader refuses nested policies for attributes
  }
};

struct BodySource {
  object members;
  Effort& effort;

  bool find(std::string_view key, element& out) const {
    effort.add(members.size());
    return members.at_key(key).get(out) == simdjson::SUCCESS;
  }
  bool there(std::string_view key) const {
    element found;
    return find(key, found);
  }
  template <typename Visit>
  bool each(std::string_view key, const Visit& visit) const {
    element found;
    return find(key, found) && each_value(found, effort, visit);
  }
  // A list matches if one of its objects matches.
  template <typename Node>
  bool into(std::string_view key, const Node& node) const {
    element found;
    return find(key, found) ? any_object(found, node) : node.matches(BodySource{empty(), effort});
  }
  template <typename Node>
  bool any_object(const element& e, const Node& node) const {
    object inner;
    array list;
    effort.add(1);
    if (effort.over()) return true;
    if (e.get_object().get(inner) == simdjson::SUCCESS)
      return node.matches(BodySource{inner, effort});
    return e.get_array().get(list) == simdjson::SUCCESS &&
           std::ranges::any_of(list, [&](const element& i) { return any_object(i, node); });
  }
  // A missing object counts as one without members: {"exists": false} may still match.
  static object empty() {
    thread_local simdjson::dom::parser parser;
    thread_local const object none = parser.parse(std::string_view("{}")).get_object().value();
    return none;
  }
};

}  // namespace

// Parses JSON into nodes; stops at the first error.
class FilterPolicyReader {
 public:
  FilterPolicyReader(FilterPolicy::Scope scope, std::string& why) : scope_(scope), why_(why) {}

  bool read(const object& from, FilterPolicy::Node& to, std::size_t level) {
    for (const auto [key, value] : from) {
      if (key == "$or" && is_or(value)) {
        if (!read_or(value, to, level)) return false;
      } else if (!read_field(key, value, to.fields.emplace_back(), level)) {
        return false;
      }
    }
    return true;
  }
  bool check_size() {
    if (keys_ > FilterPolicy::keys_max) {
      return wrong("Filter policy can not have more than {} keys", FilterPolicy::keys_max);
    }
    return combinations_ <= FilterPolicy::combinations_max || wrong("Filter policy is too complex");
  }

 private:
  template <typename... Args>
  bool wrong(fmt::format_string<Args...> format, Args&&... args) {
    why_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  // False: "$or" is an ordinary key.
  static bool is_or(const element& value) {
    array list;
    return value.get_array().get(list) == simdjson::SUCCESS && list.size() >= 2 &&
           std::ranges::all_of(list, [](const element& item) { return item.is_object(); });
  }
  bool read_or(const element& value, FilterPolicy::Node& to, std::size_t level) {
    to.ors.emplace_back();
    for (const element item : array(value)) {
      if (!read(object(item), to.ors.back().emplace_back(), level)) return false;
    }
    return true;
  }
  bool read_field(std::string_view key, const element& value, FilterPolicy::Node::Field& field,
                  std::size_t level) {
    field.key = key;
    array list;
    object nested;
    if (value.get_array().get(list) == simdjson::SUCCESS) {
      std::vector<Matcher> matchers;
      if (!read_list(list, matchers)) return false;
      field.choices = Choices(std::move(matchers));
      return count(field.choices.size() * level);
    }
    if (value.get_object().get(nested) != simdjson::SUCCESS) {
      return wrong("\"{}\" must be an object or an array", key);
    }
    if (scope_ == FilterPolicy::Scope::attributes) {
      return wrong("Filter policy scope MessageAttributes does not support nested filter policy");
    }
    field.nested = std::make_unique<FilterPolicy::Node>();
    return read(nested, *field.nested, level + 1);
  }
  bool count(std::size_t values) {
    ++keys_;
    combinations_ = std::min(combinations_ * values, FilterPolicy::combinations_max + 1);
    return true;
  }
  bool read_list(const array& list, std::vector<Matcher>& out) {
    if (list.size() == 0) return wrong("Empty arrays are not allowed");
    return std::ranges::all_of(
        list, [&](const element& item) { return read_matcher(item, out.emplace_back()); });
  }
  bool read_matcher(const element& from, Matcher& to) {
    object match;
    if (from.get_object().get(match) != simdjson::SUCCESS) return read_exact(from, to);
    if (match.size() != 1) return wrong("Only one key allowed in match expression");
    const auto [type, argument] = *match.begin();
    if (type == "exists") return read_exists(argument, to);
    if (type == "numeric") return read_numeric(argument, to);
    if (type == "anything-but") return read_anything_but(argument, to);
    return read_text_match(type, argument, to);
  }
  bool read_exact(const element& from, Matcher& to) {
    const auto value = value_of(from);
    if (!value) return wrong("Match value must be String, number, true, false, or null");
    to.text = value->text;
    to.low = value->number;
    to.truth = value->truth;
    switch (value->kind) {
      case Value::Kind::text:
        to.kind = Matcher::Kind::text;
        return true;
      case Value::Kind::number:
        to.kind = Matcher::Kind::number;
        return check_number(to.low);
      case Value::Kind::truth:
        to.kind = Matcher::Kind::truth;
        return true;
      case Value::Kind::null:
        to.kind = Matcher::Kind::null;
        return true;
    }
    return true;
  }
  bool check_number(double number) {
    return (number >= -number_max && number <= number_max) ||
           wrong("Value must be between -1.0E9 and 1.0E9, inclusive");
  }
  bool read_exists(const element& argument, Matcher& to) {
    to.kind = Matcher::Kind::exists;
    return argument.get_bool().get(to.truth) == simdjson::SUCCESS ||
           wrong("exists match pattern must be either true or false.");
  }
  bool read_text_match(std::string_view type, const element& argument, Matcher& to) {
    using K = Matcher::Kind;
    static constexpr std::pair<std::string_view, K> types[] = {
        {"prefix",             K::prefix     },
        {"suffix",             K::suffix     },
        {"equals-ignore-case", K::ignore_case},
        {"cidr",               K::network    },
    };
    const auto* const found =
        std::ranges::find(types, type, &std::pair<std::string_view, K>::first);
    if (found == std::end(types)) return wrong("Unrecognized match type {}", type);
    std::string_view text;
    if (argument.get_string().get(text) != simdjson::SUCCESS) {
      return wrong("{} match pattern must be a string", type);
    }
    to.kind = found->second;
    to.text = text;
    if (to.kind != K::network) return true;
    const auto network = Network::parse(text);
    if (!network) return wrong("Malformed CIDR, one '/' required");
    to.network = *network;
    return true;
  }
  // ["=", 1], or [">", 0], or [">", 0, "<=", 5]
  bool read_numeric(const element& argument, Matcher& to) {
    array list;
    if (argument.get_array().get(list) != simdjson::SUCCESS || list.size() == 0 ||
        list.size() % 2 != 0 || list.size() > 4) {
      return wrong("Value of numeric must be an array of operators and numbers");
    }
    to.kind = Matcher::Kind::numeric;
    to.low = -number_max;
    to.high = number_max;
    for (std::size_t i = 0; i < list.size(); i += 2) {
      std::string_view op;
      double number = 0;
      if (list.at(i).get_string().get(op) != simdjson::SUCCESS) {
        return wrong("Invalid member in numeric match: an operator is missing");
      }
      if (list.at(i + 1).get_double().get(number) != simdjson::SUCCESS) {
        return wrong("Value of {} must be numeric", op);
      }
      if (!check_number(number) || !read_bound(op, number, list.size(), i, to)) return false;
    }
    return to.low <= to.high || wrong("Bottom must be less than top");
  }
  bool read_bound(std::string_view op, double number, std::size_t size, std::size_t i,
                  Matcher& to) {
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
  bool read_anything_but(const element& argument, Matcher& to) {
    std::vector<Matcher> matchers;
    if (!read_not_these(argument, matchers)) return false;
    to.kind = Matcher::Kind::anything_but;
    to.not_these = Choices(std::move(matchers));
    return true;
  }
  bool read_not_these(const element& argument, std::vector<Matcher>& out) {
    array list;
    object match;
    if (argument.get_array().get(list) == simdjson::SUCCESS) {
      if (list.size() == 0) return wrong("Empty arrays are not allowed");
      return few_enough(list) && std::ranges::all_of(list, [&](const element& item) {
               return read_exact(item, out.emplace_back());
             });
    }
    if (argument.get_object().get(match) != simdjson::SUCCESS) {
      return read_exact(argument, out.emplace_back());
    }
    if (match.size() != 1) return wrong("Only one key allowed in match expression");
    const std::string_view type = (*match.begin()).key;
    const element inner = (*match.begin()).value;
    if (inner.get_array().get(list) != simdjson::SUCCESS) {
      return read_text_match(type, inner, out.emplace_back());
    }
    return few_enough(list) && std::ranges::all_of(list, [&](const element& item) {
             return read_text_match(type, item, out.emplace_back());
           });
  }
  // Limits the list, because each value of a message is compared with all its elements.
  bool few_enough(const array& list) {
    return list.size() <= FilterPolicy::combinations_max ||
           wrong("anything-but has {} values; the limit is {}", list.size(),
                 FilterPolicy::combinations_max);
  }

  FilterPolicy::Scope scope_;
  std::string& why_;
  std::size_t keys_ = 0;
  std::size_t combinations_ = 1;
};

FilterPolicy::FilterPolicy() : root_(std::make_unique<Node>()) {}
FilterPolicy::~FilterPolicy() = default;

std::shared_ptr<const FilterPolicy> FilterPolicy::parse(std::string_view text, Scope scope,
                                                        std::string& why) {
  element value;
  object members;
  if (text.size() > bytes_max) {
    why = fmt::format("Filter policy is longer than {} bytes", bytes_max);
    return nullptr;
  }
  if (!parse_json(text, value) || value.get_object().get(members) != simdjson::SUCCESS) {
    why = "failed to parse JSON. A filter policy is a JSON object";
    return nullptr;
  }
  auto policy = std::make_shared<FilterPolicy>();
  policy->scope_ = scope;
  FilterPolicyReader reader(scope, why);
  if (!reader.read(members, *policy->root_, 1) || !reader.check_size()) return nullptr;
  policy->memory_ =
      sizeof(FilterPolicy) + sizeof(Node) + 2 * heap_block_bytes + policy->root_->memory();
  return policy;
}

namespace {

thread_local std::uint64_t parses_of_thread = 0;

}  // namespace

struct FilterBody::Parsed {
  Parser parser;
  object members;
  bool is_object = false;
};

FilterPolicy::Verdict FilterPolicy::matches(std::string_view attributes, FilterBody& body,
                                            std::size_t& comparisons) const {
  Effort effort;
  bool wanted = false;
  if (scope_ == Scope::attributes) {
    wanted = root_->matches(AttributeSource{attributes, effort});
  } else {
    if (!body.is_parsed()) comparisons += body.text().size() / parsed_a_comparison;
    const FilterBody::Parsed& parsed = body.parsed();
    wanted = parsed.is_object && root_->matches(BodySource{parsed.members, effort});
  }
  comparisons += effort.comparisons;
  if (effort.over()) return Verdict::too_many_comparisons;
  return wanted ? Verdict::wanted : Verdict::unwanted;
}

bool FilterPolicy::matches(std::string_view attributes, std::string_view body) const {
  thread_local FilterBody one;
  one.set(body);
  std::size_t comparisons = 0;
  return matches(attributes, one, comparisons) != Verdict::unwanted;
}

std::uint64_t FilterBody::parses() { return parses_of_thread; }

FilterBody::FilterBody(std::string_view text) : text_(text) {}
FilterBody::~FilterBody() = default;
FilterBody::FilterBody(FilterBody&&) noexcept = default;
FilterBody& FilterBody::operator=(FilterBody&&) noexcept = default;

// simdjson allocates a word of tape for each byte that may begin a value, and space for the texts.
std::size_t FilterBody::memory() const {
  return parsed_ == nullptr || !parsed_->parser ? 0 : parsed_->parser->capacity() * 12;
}

void FilterBody::set(std::string_view text) {
  text_ = text;
  is_parsed_ = false;
}

const FilterBody::Parsed& FilterBody::parsed() {
  if (parsed_ == nullptr) parsed_ = std::make_unique<Parsed>();
  if (std::exchange(is_parsed_, true)) return *parsed_;
  ++parses_of_thread;
  element value;
  parsed_->is_object = parse_json(parsed_->parser, text_, value) &&
                       value.get_object().get(parsed_->members) == simdjson::SUCCESS;
  return *parsed_;
}

}  // namespace pawl
