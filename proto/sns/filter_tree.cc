// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/filter_tree.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>
#include <random>
#include <utility>

#include "core/base/usage.h"
#include "proto/text/text.h"

namespace pawl {

std::optional<FilterValue> FilterValue::of(const JsonValue& json) {
  using K = JsonValue::Kind;
  FilterValue value;
  switch (json.kind()) {
    case K::text:
      value.kind = Kind::text;
      value.text = *json.text();
      return value;
    case K::number:
      value.kind = Kind::number;
      value.number = *json.number();
      return value;
    case K::truth:
      value.kind = Kind::truth;
      value.truth = *json.truth();
      return value;
    case K::null:
      return value;
    case K::list:
    case K::object:
      break;
  }
  return std::nullopt;
}

std::size_t FilterTextHash::operator()(std::string_view text) const {
  static const std::uint64_t seed = std::random_device{}() | std::uint64_t{std::random_device{}()}
                                                                 << 32;
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::size_t FilterMatcher::cost() const {
  if (kind == Kind::network) return 10;
  return kind == Kind::anything_but ? 1 + not_these.cost() : 1;
}

double five_digits(double number) {
  constexpr double exact_max = 1e9;  // beyond it a policy has no number
  return std::abs(number) > exact_max ? number : std::round(number * 1e5) / 1e5;
}

bool FilterMatcher::is_within(double number) const {
  return (low_open ? number > low : number >= low) && (high_open ? number < high : number <= high);
}

bool FilterMatcher::matches(const FilterValue& value) const {
  using V = FilterValue::Kind;
  const bool is_text = value.kind == V::text;
  switch (kind) {
    case Kind::text:
      return is_text && value.text == text;
    case Kind::number:
      return value.kind == V::number && five_digits(value.number) == low;
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
      return value.kind == V::number && is_within(five_digits(value.number));
    case Kind::exists:
      return truth && value.kind != V::null && !(is_text && value.text.empty());
    case Kind::network: {
      const auto address = is_text ? Network::parse(value.text) : std::nullopt;
      return address && address->v4 == network.v4 && network.contains(address->address);
    }
    case Kind::anything_but:
      return !not_these.any(value);
  }
  return false;
}

namespace {

constexpr std::size_t look_up_cost = 6;  // in comparisons

}  // namespace

FilterChoices::FilterChoices() = default;
FilterChoices::~FilterChoices() = default;
FilterChoices::FilterChoices(FilterChoices&&) noexcept = default;
FilterChoices& FilterChoices::operator=(FilterChoices&&) noexcept = default;

FilterChoices::FilterChoices(std::vector<FilterMatcher> matchers) {
  for (FilterMatcher& matcher : matchers) {
    if (matcher.kind == FilterMatcher::Kind::text) {
      texts_.insert(std::move(matcher.text));
    } else {
      cost_ += matcher.cost();
      others_.push_back(std::move(matcher));
    }
  }
  if (!texts_.empty()) cost_ += look_up_cost;
}

std::size_t FilterChoices::size() const { return texts_.size() + others_.size(); }

std::size_t FilterChoices::memory() const {
  constexpr std::size_t node_bytes = sizeof(std::string) + 2 * sizeof(void*) + heap_block_bytes;
  std::size_t bytes = texts_.bucket_count() * sizeof(void*) + texts_.size() * node_bytes +
                      others_.capacity() * sizeof(FilterMatcher) + 2 * heap_block_bytes;
  for (const std::string& text : texts_) bytes += memory_of(text);
  for (const FilterMatcher& matcher : others_)
    bytes += memory_of(matcher.text) + matcher.not_these.memory();
  return bytes;
}

bool FilterChoices::any(const FilterValue& value) const {
  if (value.kind == FilterValue::Kind::text && texts_.contains(value.text)) return true;
  return std::ranges::any_of(others_, [&](const FilterMatcher& m) { return m.matches(value); });
}

bool FilterChoices::any_of_absence() const {
  return std::ranges::any_of(others_, [](const FilterMatcher& m) {
    return m.kind == FilterMatcher::Kind::exists && !m.truth;
  });
}

std::size_t FilterNode::memory() const {
  std::size_t bytes = fields.capacity() * sizeof(Field) +
                      ors.capacity() * sizeof(std::vector<FilterNode>) + 2 * heap_block_bytes;
  for (const Field& field : fields) {
    bytes += memory_of(field.key) + field.choices.memory();
    if (field.nested) bytes += sizeof(FilterNode) + heap_block_bytes + field.nested->memory();
  }
  for (const std::vector<FilterNode>& choices : ors) {
    bytes += choices.capacity() * sizeof(FilterNode) + heap_block_bytes;
    for (const FilterNode& node : choices) bytes += node.memory();
  }
  return bytes;
}

}  // namespace pawl
