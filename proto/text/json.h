// SPDX-License-Identifier: Apache-2.0
// JsonWriter: appends compact JSON and adds commas and escapes.
//
//   JsonWriter json(out);
//   json.begin_object(); json.member("MessageId", id); json.key("Tags"); json.begin_array(); ...
//
// The last byte written determines the need for a comma, so the writer has no stack.
//
// Errors: none. Text must be UTF-8; it is escaped, not checked. The caller ensures a valid order of
//         calls.
// Owner:  the caller's string, appended to; its earlier contents stay unchanged.
// Source: RFC 8259, section 7.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out), start_(out.size()) {}

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();

  void key(std::string_view name);

  // The text needs no escapes: names of members, digits, ids, base64.
  void plain_key(std::string_view name);
  void plain_member(std::string_view name, std::string_view text);

  void value(std::string_view text);
  // Without this overload a literal would convert to bool.
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth);
  template <std::signed_integral T>
  void value(T number) {
    signed_number(number);
  }
  template <std::unsigned_integral T>
  void value(T number) {
    unsigned_number(number);
  }

  template <typename T>
  void member(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

 private:
  void comma();
  void quoted(std::string_view text);
  void signed_number(std::int64_t number);
  void unsigned_number(std::uint64_t number);

  std::string& out_;
  std::size_t start_;
};

}  // namespace pawl
