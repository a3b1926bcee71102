// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/input.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "proto/aws/message_attributes.h"
#include "proto/text/base64.h"
#include "proto/text/json_bulk.h"
#include "proto/text/lone_surrogates.h"

namespace pawl {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t depth_max = 32;

// One parser per thread. Its results are copied out before the call returns. After a large document
// it is replaced, because it holds about 14 bytes for each byte of the largest one.
class Parser {
 public:
  // `padded`: the 64 bytes after the text are readable.
  simdjson::error_code parse(std::string_view text, bool padded, element& out) {
    if (!parser_ || parser_->capacity() > keep_max)
      parser_ = std::make_unique<simdjson::dom::parser>();
    if (text.size() > parser_->capacity()) {
      const auto error = parser_->allocate(std::max<std::size_t>(text.size(), 4096), depth_max);
      if (error != simdjson::SUCCESS) return error;
    }
    return parser_->parse(text.data(), text.size(), !padded).get(out);
  }

  static Parser& of_this_thread() {
    thread_local Parser parser;
    return parser;
  }

 private:
  static constexpr std::size_t keep_max = 256 << 10;
  std::unique_ptr<simdjson::dom::parser> parser_;
};

std::string_view kind_name(element_type type) {
  switch (type) {
    case element_type::STRING:
      return "STRING_VALUE";
    case element_type::BOOL:
      return "BOOLEAN_VALUE";
    case element_type::NULL_VALUE:
      return "NULL_VALUE";
    case element_type::ARRAY:
      return "START_ARRAY";
    case element_type::OBJECT:
      return "START_OBJECT";
    default:
      return "NUMBER_VALUE";
  }
}

// True for a list item named as in Query, {"AttributeName.1": "All"}: Celery with kombu 5.3 and 5.4
// sends such names.
bool is_query_item(std::string_view key, const SqsMemberInfo& member) {
  return member.kind == SqsMemberKind::list && key.starts_with(member.query) &&
         key.size() > member.query.size() && key[member.query.size()] == '.';
}

class JsonReader {
 public:
  JsonReader(SqsInput& input, Refusal& refusal) : input_(input), refusal_(refusal) {}

  bool read_call(const element& document, const SqsActionInfo& action);

 private:
  using Object = simdjson::dom::object;
  using Array = simdjson::dom::array;

  bool read_members(const element& from, SqsMemberSet wanted, SqsEntryInput& entry);
  bool read_member(SqsMember member, const element& value, SqsEntryInput& entry);
  bool read_list(const element& value, std::vector<std::string_view>& out);
  bool read_item(const element& value, std::vector<std::string_view>& out);
  bool read_map(SqsMember member, const element& value);
  bool read_attributes(const element& value, SqsAttributeRange& range);
  bool read_attribute(const element& value, AttributeInput& attribute);
  bool read_entries(const element& value);

  bool text_of(const element& value, std::string_view& out);
  bool integer_of(const element& value, SqsScalar& out);
  bool bytes_of(const element& value, std::string_view& out);
  bool object_of(const element& value, Object& out);
  bool array_of(const element& value, Array& out);

  bool refuse(std::string_view text) {
    return refusal_.because(SqsFault::serialization, "{}", text);
  }

  SqsInput& input_;
  Refusal& refusal_;
  SqsMemberSet entry_members_ = 0;
};

bool JsonReader::read_call(const element& document, const SqsActionInfo& action) {
  entry_members_ = action.entry_members;
  if (entry_members_ != 0) {
    SqsEntryInput none;
    return read_members(document, action.members, none);
  }
  input_.entries.resize(1);
  input_.entries_given = 1;
  return read_members(document, action.members, input_.entries.front());
}

bool JsonReader::read_members(const element& from, SqsMemberSet wanted, SqsEntryInput& entry) {
  Object object;
  if (!object_of(from, object)) return false;
  for (const auto [key, value] : object) {
    if (value.is_null()) continue;  // null counts as absent
    for (SqsMemberSet rest = wanted; rest != 0; rest &= rest - 1) {
      const auto member = static_cast<SqsMember>(std::countr_zero(rest));
      if (is_query_item(key, info(member))) {
        if (!read_item(value, input_.list_of(member))) return false;
        break;
      }
      if (info(member).json != key) continue;
      if (!read_member(member, value, entry)) return false;
      break;
    }
  }
  return true;
}

bool JsonReader::read_member(SqsMember member, const element& value, SqsEntryInput& entry) {
  switch (info(member).kind) {
    case SqsMemberKind::text: {
      SqsScalar& scalar = input_.scalar_of(member, entry);
      scalar.present = true;
      return text_of(value, scalar.text);
    }
    case SqsMemberKind::integer:
      return integer_of(value, input_.scalar_of(member, entry));
    case SqsMemberKind::list:
      return read_list(value, input_.list_of(member));
    case SqsMemberKind::map:
      return read_map(member, value);
    case SqsMemberKind::attributes:
      return read_attributes(
          value, member == SqsMember::message_attributes ? entry.attributes : entry.system);
    case SqsMemberKind::entries:
      return read_entries(value);
  }
  return true;
}

bool JsonReader::read_list(const element& value, std::vector<std::string_view>& out) {
  Array array;
  if (!array_of(value, array)) return false;
  for (const element item : array) {
    if (!read_item(item, out)) return false;
  }
  return true;
}

bool JsonReader::read_item(const element& value, std::vector<std::string_view>& out) {
  std::string_view text;
  if (!text_of(value, text)) return false;
  out.push_back(text);
  return true;
}

bool JsonReader::read_map(SqsMember member, const element& value) {
  const bool attributes = member == SqsMember::queue_attributes;
  auto& out = input_.map_of(member);
  Object object;
  if (!object_of(value, object)) return false;
  for (const auto [key, item] : object) {
    if (item.is_null() && !attributes) return refuse_null_tag(refusal_);
    if (item.is_null()) continue;
    std::string_view text;
    if (!text_of(item, text)) return false;
    out.emplace_back(input_.arena.copy(key), text);
  }
  return true;
}

bool JsonReader::read_attributes(const element& value, SqsAttributeRange& range) {
  Object object;
  if (!object_of(value, object)) return false;
  for (const auto [key, item] : object) {
    AttributeInput attribute;
    attribute.name = input_.arena.copy(key);
    if (!read_attribute(item, attribute)) return false;
    input_.add_attribute(range, attribute);
  }
  return true;
}

bool JsonReader::read_attribute(const element& value, AttributeInput& attribute) {
  Object object;
  if (!object_of(value, object)) return false;
  for (const auto [key, item] : object) {
    if (item.is_null()) continue;
    std::string_view text;
    if (key == "DataType") {
      if (!text_of(item, text)) return false;
      attribute.type = text;
    } else if (key == "StringValue") {
      if (!text_of(item, text)) return false;
      attribute.text = text;
    } else if (key == "BinaryValue") {
      if (!bytes_of(item, text)) return false;
      attribute.bytes = text;
    } else if (key == "StringListValues" || key == "BinaryListValues") {
      Array array;
      if (!array_of(item, array)) return false;
      attribute.has_list |= array.size() > 0;
    }
  }
  return true;
}

bool JsonReader::read_entries(const element& value) {
  Array array;
  if (!array_of(value, array)) return false;
  for (const element item : array) {
    if (++input_.entries_given > sqs_entries_max) continue;
    input_.entries.emplace_back();
    if (!read_members(item, entry_members_, input_.entries.back())) return false;
  }
  return true;
}

// Numbers and booleans count as text, as on AWS: {"VisibilityTimeout": 30} in a map of texts.
bool JsonReader::text_of(const element& value, std::string_view& out) {
  switch (value.type()) {
    case element_type::STRING:
      out = input_.arena.copy(value.get_string().value_unsafe());
      return true;
    case element_type::INT64:
      out = input_.arena.copy(std::to_string(value.get_int64().value_unsafe()));
      return true;
    case element_type::UINT64:
      out = input_.arena.copy(std::to_string(value.get_uint64().value_unsafe()));
      return true;
    case element_type::DOUBLE:
      out = input_.arena.copy(fmt::format("{}", value.get_double().value_unsafe()));
      return true;
    case element_type::BOOL:
      out = value.get_bool().value_unsafe() ? "true" : "false";
      return true;
    case element_type::ARRAY:
      return refuse("Start of list found where not expected");
    case element_type::OBJECT:
      return refuse("Start of structure or map found where not expected.");
    case element_type::NULL_VALUE:
      break;
  }
  return refuse("Null found where not expected");
}

bool JsonReader::integer_of(const element& value, SqsScalar& out) {
  switch (value.type()) {
    case element_type::INT64:
      out.is_number = true;
      out.number = value.get_int64().value_unsafe();
      break;
    case element_type::UINT64:  // too large for `number`: out of every range
      break;
    case element_type::DOUBLE: {
      const double number = value.get_double().value_unsafe();
      if (number != static_cast<double>(static_cast<std::int32_t>(
                        std::clamp(number, -2147483648.0, 2147483647.0)))) {
        return refuse("NUMBER_VALUE can not be converted to an Integer");
      }
      out.is_number = true;
      out.number = static_cast<std::int64_t>(number);
      break;
    }
    default:
      return refusal_.because(SqsFault::serialization, "{} can not be converted to an Integer",
                              kind_name(value.type()));
  }
  out.present = true;
  return text_of(value, out.text);
}

bool JsonReader::bytes_of(const element& value, std::string_view& out) {
  thread_local std::string bytes;
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    return refusal_.because(SqsFault::serialization, "{} can not be converted to a Blob",
                            kind_name(value.type()));
  }
  bytes.clear();
  if (!decode_base64(text, bytes)) return refuse("A BinaryValue is not base64");
  out = input_.arena.copy(bytes);
  return true;
}

// Accepts an object with at most sqs_list_max members, each once. (The parser would take the first
// of two equal members, while another reader of the same text might take the last.)
bool JsonReader::object_of(const element& value, Object& out) {
  thread_local std::vector<std::string_view> keys;
  if (value.get_object().get(out) != simdjson::SUCCESS) {
    return refuse(value.is_array() ? "Start of list found where not expected"
                                   : "Expected a structure or map");
  }
  if (out.size() > sqs_list_max) return refuse("A structure or map has too many members");
  keys.clear();
  for (const auto field : out) keys.push_back(field.key);
  std::ranges::sort(keys);
  const auto twin = std::ranges::adjacent_find(keys);
  if (twin == keys.end()) return true;
  return refusal_.because(SqsFault::serialization, "The member {} is given twice", shown(*twin));
}

bool JsonReader::array_of(const element& value, Array& out) {
  if (value.get_array().get(out) != simdjson::SUCCESS) {
    return refuse(value.is_object() ? "Start of structure or map found where not expected."
                                    : "Expected a list");
  }
  return out.size() <= sqs_list_max || refuse("A list has too many members");
}

}  // namespace

bool read_json(std::string_view body, const SqsActionInfo& action, SqsInput& input,
               Refusal& refusal) {
  constexpr std::string_view blank = " \t\r\n";
  static constexpr char no_members[2 + simdjson::SIMDJSON_PADDING] = "{}";
  if (body.find_first_not_of(blank) == std::string_view::npos) body = {no_members, 2};
  if (const JsonBulk bulk = look_at_bulk(body); bulk != JsonBulk::fits) {
    const bool structure = bulk == JsonBulk::too_much_structure;
    return refusal.because(
        SqsFault::serialization,
        "The request body of {} bytes has more than {} bytes of JSON {}; no action needs as much. "
        "Send fewer or shorter members.",
        body.size(), structure ? json_structure_bytes_max : json_content_bytes_max,
        structure ? "outside of texts" : "in all");
  }
  element document;
  auto error = Parser::of_this_thread().parse(body, true, document);
  if (error != simdjson::SUCCESS) {
    std::string mended(body);
    if (replace_lone_surrogates(mended))
      error = Parser::of_this_thread().parse(mended, false, document);
  }
  if (error != simdjson::SUCCESS) {
    return refusal.because(SqsFault::serialization, "The request body is not valid JSON: {}",
                           simdjson::error_message(error));
  }
  return JsonReader(input, refusal).read_call(document, action);
}

}  // namespace pawl
