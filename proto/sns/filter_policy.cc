// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/filter_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/usage.h"
#include "proto/aws/message_attributes.h"
#include "proto/sns/filter_tree.h"
#include "proto/text/json_dom.h"

namespace pawl {
namespace {

constexpr std::size_t parsed_a_comparison = 2;  // bytes of JSON that cost one comparison to parse

// Visits the values of a list and of its nested lists. The parser limits the depth.
template <typename Visit>
bool each_value(const JsonValue& json, FilterEffort& effort, const Visit& visit) {
  effort.add(1);
  if (json.is_list()) {
    return std::ranges::any_of(
        json.items(), [&](const JsonValue& item) { return each_value(item, effort, visit); });
  }
  const auto value = FilterValue::of(json);
  return value && visit(*value);
}

struct AttributeSource {
  std::string_view encoded;
  FilterEffort& effort;

  bool find(std::string_view key, MessageAttribute& out) const {
    AttributeReader reader(encoded);
    while (reader.next(out)) {
      effort.add(1);
      if (out.name == key) return out.kind == AttributeKind::text;
    }
    return false;
  }
  bool can_lack() const { return !encoded.empty(); }
  bool there(std::string_view key) const {
    MessageAttribute found;
    return find(key, found);
  }
  template <typename Visit>
  bool each(std::string_view key, const Visit& visit) const {
    MessageAttribute found;
    if (!find(key, found)) return false;
    if (found.type == "String.Array") {
      thread_local JsonDom dom(FilterBody::keep_max);
      effort.add(found.value.size() / parsed_a_comparison);
      const auto list = dom.parse(found.value);
      return list && each_value(*list, effort, visit);
    }
    FilterValue value{.kind = FilterValue::Kind::text, .text = found.value};
    if (found.type.starts_with("Number")) {
      value.kind = FilterValue::Kind::number;
      std::string_view digits = found.value;
      if (digits.starts_with('+')) digits.remove_prefix(1);  // std::from_chars accepts no plus
      std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    }
    return visit(value);
  }
  bool into(std::string_view, const FilterNode&) const {
    return false;  // the reader refuses nested policies for attributes
  }
};

// Null, an empty text, list or object do not exist.
bool exists(const JsonValue& json) {
  if (json.is_list()) return std::ranges::any_of(json.items(), exists);
  if (json.is_object()) return json.size() > 0;
  const auto text = json.text();
  return !json.is_null() && !(text && text->empty());
}

// A key with dots is a path, however the body divides it: a.b.c finds {a:{b:{c}}}, {a.b:{c}},
// {a:{b.c}} and {a.b.c}.
struct BodySource {
  std::optional<JsonValue> members;  // nothing: an object without members
  FilterEffort& effort;

  // Visits each value of the key until `visit` returns true; returns whether it did.
  template <typename Visit>
  bool find(std::string_view key, const Visit& visit) const {
    if (!members) return false;
    effort.add(members->size());
    if (effort.over()) return true;
    if (const auto found = members->member(key); found && visit(*found)) return true;
    for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
      const auto inner = members->member(key.substr(0, dot));
      if (inner && find_in(*inner, key.substr(dot + 1), visit)) return true;
    }
    return false;
  }
  template <typename Visit>
  bool find_in(const JsonValue& json, std::string_view key, const Visit& visit) const {
    if (json.is_object()) return BodySource{json, effort}.find(key, visit);
    return json.is_list() && std::ranges::any_of(json.items(), [&](const JsonValue& item) {
             return find_in(item, key, visit);
           });
  }
  bool can_lack() const { return true; }
  bool there(std::string_view key) const { return find(key, exists); }
  template <typename Visit>
  bool each(std::string_view key, const Visit& visit) const {
    return find(key, [&](const JsonValue& found) { return each_value(found, effort, visit); });
  }
  // A list matches if one of its objects matches. A missing object counts as one without members:
  // {"exists": false} may still match.
  bool into(std::string_view key, const FilterNode& node) const {
    bool any = false;
    const bool matched = find(key, [&](const JsonValue& found) {
      any = true;
      return any_object(found, node);
    });
    return matched || (!any && node.matches(BodySource{std::nullopt, effort}));
  }
  bool any_object(const JsonValue& json, const FilterNode& node) const {
    effort.add(1);
    if (effort.over()) return true;
    if (json.is_object()) return node.matches(BodySource{json, effort});
    return json.is_list() && std::ranges::any_of(json.items(), [&](const JsonValue& item) {
             return any_object(item, node);
           });
  }
};

}  // namespace

FilterPolicy::FilterPolicy() : root_(std::make_unique<FilterNode>()) {}
FilterPolicy::~FilterPolicy() = default;

std::shared_ptr<const FilterPolicy> FilterPolicy::parse(std::string_view text, Scope scope,
                                                        std::string& why) {
  thread_local JsonDom dom(FilterBody::keep_max);
  if (text.size() > bytes_max) {
    why = fmt::format("Filter policy is longer than {} bytes", bytes_max);
    return nullptr;
  }
  const auto json = dom.parse(text);
  if (!json || !json->is_object()) {
    why = "failed to parse JSON. A filter policy is a JSON object";
    return nullptr;
  }
  auto policy = std::make_shared<FilterPolicy>();
  policy->scope_ = scope;
  const FilterLimits limits{
      .keys_max = keys_max, .combinations_max = combinations_max, .nested = scope == Scope::body};
  if (!read_filter_tree(*json, limits, *policy->root_, why)) return nullptr;
  policy->memory_ =
      sizeof(FilterPolicy) + sizeof(FilterNode) + 2 * heap_block_bytes + policy->root_->memory();
  return policy;
}

namespace {

thread_local std::uint64_t parses_of_thread = 0;

}  // namespace

struct FilterBody::Parsed {
  JsonDom dom{keep_max};
  std::optional<JsonValue> object;  // nothing: the body is not a JSON object
};

FilterPolicy::Verdict FilterPolicy::matches(std::string_view attributes, FilterBody& body,
                                            std::size_t& comparisons) const {
  FilterEffort effort{.comparisons_max = comparisons_max};
  bool wanted = false;
  if (scope_ == Scope::attributes) {
    wanted = root_->matches(AttributeSource{attributes, effort});
  } else {
    if (!body.is_parsed()) comparisons += body.text().size() / parsed_a_comparison;
    const FilterBody::Parsed& parsed = body.parsed();
    wanted = parsed.object && root_->matches(BodySource{parsed.object, effort});
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

std::size_t FilterBody::memory() const { return parsed_ == nullptr ? 0 : parsed_->dom.memory(); }

void FilterBody::set(std::string_view text) {
  text_ = text;
  is_parsed_ = false;
}

const FilterBody::Parsed& FilterBody::parsed() {
  if (parsed_ == nullptr) parsed_ = std::make_unique<Parsed>();
  if (std::exchange(is_parsed_, true)) return *parsed_;
  ++parses_of_thread;
  parsed_->object = parsed_->dom.parse(text_);
  if (parsed_->object && !parsed_->object->is_object()) parsed_->object.reset();
  return *parsed_;
}

}  // namespace pawl
