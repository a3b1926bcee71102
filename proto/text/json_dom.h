// SPDX-License-Identifier: Apache-2.0
// JsonDom: parses a JSON document into a tree of values. It reads all JSON but the body of an SQS
// request (sqs/json_input.cc), where the calls of this header would cost 12 to 16 % more.
//
//   JsonDom dom;
//   if (const auto document = dom.parse(text)) {
//     for (const auto [key, value] : document->members()) ...
//   }
//
// The whole document is checked: UTF-8, grammar, numbers. Of equal keys member() finds the first;
// a caller that must refuse equal keys compares them itself, with repeated_name() of text.h.
//
// Units:  bytes.
// Limits: depth_max levels of lists and objects.
// Errors: no value for a text that is not JSON; an accessor of another kind has no value.
// Owner:  a JsonDom owns the document of its last parse; values, ranges and texts are valid until
//         the next one. A parser of more than keep_max bytes of text is freed at the next parse.
// Source: RFC 8259.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

struct JsonField;
template <typename Entry>
class JsonRange;

// A value of a document, as small as a string_view.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, truth, number, text, list, object };

  JsonValue() = default;  // of no document; assign before use

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_number() const { return kind() == Kind::number; }

  std::optional<std::string_view> text() const;
  std::optional<bool> truth() const;
  std::optional<double> number() const;

  // Elements of a list, members of an object; 0 for other kinds.
  std::size_t size() const;
  // Empty ranges for other kinds.
  JsonRange<JsonValue> items() const;
  JsonRange<JsonField> members() const;
  std::optional<JsonValue> member(std::string_view key) const;

  std::string compact() const;  // as JSON without white space

 private:
  friend class JsonDom;
  template <typename Entry>
  friend class JsonRange;
  using Handle = std::array<std::uintptr_t, 2>;  // simdjson's document and position
  explicit JsonValue(Handle handle) : handle_(handle) {}

  Handle handle_{};
};

struct JsonField {
  std::string_view key;
  JsonValue value;
};

// The elements of a list (JsonValue), or the members of an object (JsonField).
template <typename Entry>
class JsonRange {
 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;

    Entry operator*() const;
    iterator& operator++();
    iterator operator++(int) {
      const iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator&) const = default;

   private:
    friend class JsonValue;
    JsonValue::Handle at_{};
  };
  iterator begin() const { return begin_; }
  iterator end() const { return end_; }

 private:
  friend class JsonValue;
  iterator begin_, end_;
};

template <>
JsonValue JsonRange<JsonValue>::iterator::operator*() const;
template <>
JsonRange<JsonValue>::iterator& JsonRange<JsonValue>::iterator::operator++();
template <>
JsonField JsonRange<JsonField>::iterator::operator*() const;
template <>
JsonRange<JsonField>::iterator& JsonRange<JsonField>::iterator::operator++();

class JsonDom {
 public:
  static constexpr std::size_t depth_max = 32;

  explicit JsonDom(std::size_t keep_max = 64 << 10);
  ~JsonDom();
  JsonDom(JsonDom&&) noexcept;
  JsonDom& operator=(JsonDom&&) noexcept;

  std::optional<JsonValue> parse(std::string_view text);
  std::size_t memory() const;  // approximate bytes held

 private:
  struct Impl;

  std::size_t keep_max_;
  std::unique_ptr<Impl> impl_;
};

// True for well-formed UTF-8 without surrogates. It is here because simdjson has the fastest check.
bool valid_utf8(std::string_view text);

}  // namespace pawl
