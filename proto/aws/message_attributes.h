// SPDX-License-Identifier: Apache-2.0
// Message attributes: their encoding, checks, digest and selection.
//
// Content.attributes and Content.system are consecutive entries, ascending by the bytes of their
// names, each name once. The log and the binary protocol carry them unchanged:
//
//   | name length 2 | name | type length 1 | type | kind 1 | value length 4 | value |   little endian
//
// kind is 1 for text (types String and Number), 2 for bytes (type Binary); a type may continue
// after a dot ("Number.int"). The system attributes (AWSTraceHeader, MessageGroupId ...) have the
// same form.
//
// Units:  bytes.
// Limits: message_attributes_max entries, names up to attribute_name_max, types below 256.
// Errors: AttributeFault names the broken SQS rule; check_attributes() also checks the structure.
// Owner:  MessageAttribute and the reader point into the encoded bytes.
// Source: SQS Developer Guide, "Amazon SQS message metadata" (rules, MD5 of attributes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "proto/text/digest.h"

namespace pawl {

inline constexpr std::size_t message_attributes_max = 10;
inline constexpr std::size_t attribute_name_max = 256;
inline constexpr std::size_t attribute_type_max = 255;
inline constexpr std::size_t trace_header_max =
    8192;  // bytes of AWSTraceHeader; they count towards no other limit

inline constexpr std::string_view trace_header_name = "AWSTraceHeader";

enum class AttributeKind : std::uint8_t { text = 1, bytes = 2 };

struct MessageAttribute {
  std::string_view name;
  std::string_view type;
  AttributeKind kind = AttributeKind::text;
  std::string_view value;  // bytes are not base64 here
};

enum class AttributeFault : std::uint8_t {
  none,
  name_empty,
  name_long,
  name_reserved,    // begins with AWS. or Amazon., in any case
  name_characters,  // other than letters, digits, _ - and single inner dots
  type_empty,
  type_long,
  type_unknown,  // not String, Number or Binary; or a type that contradicts the kind
  value_empty,
  value_characters,  // text outside SQS's characters
  not_a_number,
};

// SQS's rules for one attribute.
AttributeFault check_attribute(const MessageAttribute& attribute);

// Appends one entry. The caller adds them in ascending order of their names.
void append_attribute(std::string& out, const MessageAttribute& attribute);

// Appends AWSTraceHeader, encoded as a system attribute. Leaves out one that is empty, longer than
// trace_header_max or no text.
void append_trace_header(std::string& out, std::string_view trace);

// Iterates over encoded entries; stops at the first truncated entry.
class AttributeReader {
 public:
  explicit AttributeReader(std::string_view encoded) : rest_(encoded) {}

  bool next(MessageAttribute& out);
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Checks bytes from a client for use as Content.attributes: `invalid` if the structure, the order
// or a rule is broken, `too_large` if there are too many.
Errc check_attributes(std::string_view encoded);

// Bytes of the entries that count towards the size of a message: names, types and values.
std::size_t attributes_size(std::string_view encoded);

// The attributes requested by a receiver: exact names, "prefix.*", or all ("All", ".*", "*").
class AttributeFilter {
 public:
  AttributeFilter() = default;  // nothing
  // The names must outlive the filter.
  explicit AttributeFilter(std::span<const std::string_view> names);

  bool wants(std::string_view name) const;

 private:
  std::span<const std::string_view> names_;
  bool all_ = false;
};

// SQS's digest over all entries, or over the entries selected by the filter. False without entries:
// there is no digest then, not the digest of empty input.
[[nodiscard]] bool attributes_md5(std::string_view encoded, Md5& out);
[[nodiscard]] bool attributes_md5(std::string_view encoded, const AttributeFilter& filter,
                                  Md5& out);

}  // namespace pawl
