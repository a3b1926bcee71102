// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_dom.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace pawl {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

// simdjson's values and iterators are a document and a position in it. They are copied to and from
// the handles of the header, which does not include simdjson.
using Handle = std::array<std::uintptr_t, 2>;

template <typename T>
Handle handle_of(const T& from) {
  static_assert(sizeof(T) == sizeof(Handle) && std::is_trivially_copyable_v<T>);
  return std::bit_cast<Handle>(from);
}

template <typename T>
T from_handle(const Handle& handle) {
  static_assert(sizeof(T) == sizeof(Handle) && std::is_trivially_copyable_v<T>);
  return std::bit_cast<T>(handle);
}

template <typename T>
std::optional<T> value_or_nothing(simdjson::simdjson_result<T> result) {
  T value{};
  return std::move(result).get(value) == SUCCESS ? std::optional(value) : std::nullopt;
}

}  // namespace

JsonValue::Kind JsonValue::kind() const {
  switch (from_handle<element>(handle_).type()) {
    case element_type::BOOL:
      return Kind::truth;
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return Kind::number;
    case element_type::STRING:
      return Kind::text;
    case element_type::ARRAY:
      return Kind::list;
    case element_type::OBJECT:
      return Kind::object;
    case element_type::NULL_VALUE:
      break;
  }
  return Kind::null;
}

std::optional<std::string_view> JsonValue::text() const {
  return value_or_nothing(from_handle<element>(handle_).get_string());
}
std::optional<bool> JsonValue::truth() const {
  return value_or_nothing(from_handle<element>(handle_).get_bool());
}
std::optional<double> JsonValue::number() const {
  return value_or_nothing(from_handle<element>(handle_).get_double());
}

std::size_t JsonValue::size() const {
  const element value = from_handle<element>(handle_);
  array list;
  object members;
  if (value.get_array().get(list) == SUCCESS) return list.size();
  return value.get_object().get(members) == SUCCESS ? members.size() : 0;
}

JsonRange<JsonValue> JsonValue::items() const {
  JsonRange<JsonValue> items;
  array list;
  if (from_handle<element>(handle_).get_array().get(list) == SUCCESS) {
    items.begin_.at_ = handle_of(list.begin());
    items.end_.at_ = handle_of(list.end());
  }
  return items;
}

JsonRange<JsonField> JsonValue::members() const {
  JsonRange<JsonField> members;
  object of;
  if (from_handle<element>(handle_).get_object().get(of) == SUCCESS) {
    members.begin_.at_ = handle_of(of.begin());
    members.end_.at_ = handle_of(of.end());
  }
  return members;
}

std::optional<JsonValue> JsonValue::member(std::string_view key) const {
  object of;
  element found;
  if (from_handle<element>(handle_).get_object().get(of) != SUCCESS ||
      of.at_key(key).get(found) != SUCCESS) {
    return std::nullopt;
  }
  return JsonValue(handle_of(found));
}

std::string JsonValue::compact() const { return simdjson::minify(from_handle<element>(handle_)); }

template <>
JsonValue JsonRange<JsonValue>::iterator::operator*() const {
  return JsonValue(handle_of(*from_handle<array::iterator>(at_)));
}
template <>
JsonRange<JsonValue>::iterator& JsonRange<JsonValue>::iterator::operator++() {
  at_ = handle_of(++from_handle<array::iterator>(at_));
  return *this;
}

template <>
JsonField JsonRange<JsonField>::iterator::operator*() const {
  const auto here = from_handle<object::iterator>(at_);
  return {here.key(), JsonValue(handle_of(here.value()))};
}
template <>
JsonRange<JsonField>::iterator& JsonRange<JsonField>::iterator::operator++() {
  at_ = handle_of(++from_handle<object::iterator>(at_));
  return *this;
}

struct JsonDom::Impl {
  simdjson::dom::parser parser;
};

JsonDom::JsonDom(std::size_t keep_max) : keep_max_(keep_max) {}
JsonDom::~JsonDom() = default;
JsonDom::JsonDom(JsonDom&&) noexcept = default;
JsonDom& JsonDom::operator=(JsonDom&&) noexcept = default;

std::optional<JsonValue> JsonDom::parse(std::string_view text) {
  constexpr std::size_t capacity_min = 4096;
  if (text.empty()) return std::nullopt;  // simdjson would copy from null
  if (!impl_ || impl_->parser.capacity() > keep_max_) impl_ = std::make_unique<Impl>();
  simdjson::dom::parser& parser = impl_->parser;
  if (text.size() > parser.capacity() &&
      parser.allocate(std::max(text.size(), capacity_min), depth_max) != SUCCESS) {
    return std::nullopt;
  }
  element root;
  if (parser.parse(text.data(), text.size()).get(root) != SUCCESS) return std::nullopt;
  return JsonValue(handle_of(root));
}

// simdjson allocates a word of tape for each byte that may begin a value, and space for the texts.
std::size_t JsonDom::memory() const { return impl_ == nullptr ? 0 : impl_->parser.capacity() * 12; }

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace pawl
