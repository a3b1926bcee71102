// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/input.h"

#include <fmt/core.h>
#include <charconv>
#include <string>

#include "proto/aws/message_attributes.h"
#include "proto/text/base64.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

class QueryReader {
 public:
  QueryReader(const Form& form, SqsInput& input, Refusal& refusal)
      : form_(form), input_(input), refusal_(refusal) {}

  // Reads the members whose keys begin with `prefix` ("" or "SomeEntry.3.").
  bool read(SqsMemberSet wanted, std::string_view prefix, SqsEntryInput& entry);
  bool read_entries(const SqsActionInfo& action);

 private:
  bool read_member(SqsMember member, std::string_view key, SqsEntryInput& entry);
  bool read_list(std::string_view key, std::vector<std::string_view>& out);
  bool read_map(SqsMember member, std::string_view key);
  bool read_attributes(std::string_view key, SqsAttributeRange& range);
  bool read_bytes(std::string_view key, std::uint32_t n, AttributeInput& attribute);
  bool read_indexes(std::string_view key, std::vector<std::uint32_t>& out);
  std::string_view copy(const std::string_view* text) {
    return text == nullptr ? std::string_view() : input_.arena.copy(*text);
  }

  const Form& form_;
  SqsInput& input_;
  Refusal& refusal_;
};

bool QueryReader::read(SqsMemberSet wanted, std::string_view prefix, SqsEntryInput& entry) {
  thread_local std::string key;
  for (std::size_t i = 0; wanted >> i != 0; ++i) {
    if ((wanted >> i & 1) == 0) continue;
    const auto member = static_cast<SqsMember>(i);
    key.assign(prefix);
    key += info(member).query;
    if (!read_member(member, key, entry)) return false;
  }
  return true;
}

bool QueryReader::read_member(SqsMember member, std::string_view key, SqsEntryInput& entry) {
  switch (info(member).kind) {
    case SqsMemberKind::text:
    case SqsMemberKind::integer: {
      const std::string_view* text = form_.find(key);
      if (text == nullptr) return true;
      SqsScalar& scalar = input_.scalar_of(member, entry);
      scalar.present = true;
      scalar.text = copy(text);
      const char* end = scalar.text.data() + scalar.text.size();
      const auto parsed = std::from_chars(scalar.text.data(), end, scalar.number);
      scalar.is_number = parsed.ec == std::errc() && parsed.ptr == end;
      return true;
    }
    case SqsMemberKind::list:
      return read_list(key, input_.list_of(member));
    case SqsMemberKind::map:
      return read_map(member, key);
    case SqsMemberKind::attributes:
      return read_attributes(
          key, member == SqsMember::message_attributes ? entry.attributes : entry.system);
    case SqsMemberKind::entries:
      return true;  // read_entries() reads them
  }
  return true;
}

bool QueryReader::read_indexes(std::string_view key, std::vector<std::uint32_t>& out) {
  if (form_.indexes(key, out)) return true;
  return refusal_.because(SqsFault::invalid_query_parameter,
                          "The numbers of the list {} must be from 1 to {}.", key, Form::index_max);
}

bool QueryReader::read_list(std::string_view key, std::vector<std::string_view>& out) {
  thread_local std::vector<std::uint32_t> numbers;
  if (!read_indexes(key, numbers)) return false;
  for (const std::uint32_t n : numbers) {
    if (const auto* text = form_.find(key, n)) out.push_back(copy(text));
  }
  if (const auto* text = form_.find(key); text != nullptr && !text->empty()) {
    out.push_back(copy(text));
  }
  return true;
}

bool QueryReader::read_map(SqsMember member, std::string_view key) {
  thread_local std::vector<std::uint32_t> numbers;
  thread_local std::string single;
  const bool attributes = member == SqsMember::queue_attributes;
  const std::string_view name = attributes ? "Name" : "Key";
  auto& out = input_.map_of(member);
  if (!read_indexes(key, numbers)) return false;
  for (const std::uint32_t n : numbers) {
    const std::string_view* value = form_.find(key, n, "Value");
    if (value == nullptr && !attributes) return refuse_null_tag(refusal_);
    out.emplace_back(copy(form_.find(key, n, name)), copy(value));
  }
  // Old SetQueueAttributes clients send one attribute: Attribute.Name=..&Attribute.Value=..
  single.assign(key).append(".").append(name);
  if (const auto* only = form_.find(single)) {
    single.assign(key).append(".Value");
    out.emplace_back(copy(only), copy(form_.find(single)));
  }
  const auto twice = repeated_name(out);
  return !twice || refusal_.because(SqsFault::invalid_query_parameter,
                                    "{} names {} twice: name it once.", key, shown(*twice));
}

bool QueryReader::read_bytes(std::string_view key, std::uint32_t n, AttributeInput& attribute) {
  thread_local std::string bytes;
  const std::string_view* base64 = form_.find(key, n, "Value.BinaryValue");
  if (base64 == nullptr) return true;
  bytes.clear();
  if (!decode_base64(*base64, bytes)) {
    return refusal_.because(SqsFault::invalid_parameter_value,
                            "Value for parameter {}.{}.Value.BinaryValue is invalid. Reason: Must "
                            "be base64.",
                            key, n);
  }
  attribute.bytes = input_.arena.copy(bytes);
  return true;
}

bool QueryReader::read_attributes(std::string_view key, SqsAttributeRange& range) {
  thread_local std::vector<std::uint32_t> numbers;
  if (!read_indexes(key, numbers)) return false;
  for (const std::uint32_t n : numbers) {
    AttributeInput attribute;
    attribute.name = copy(form_.find(key, n, "Name"));
    if (const auto* type = form_.find(key, n, "Value.DataType")) attribute.type = copy(type);
    if (const auto* text = form_.find(key, n, "Value.StringValue")) attribute.text = copy(text);
    if (!read_bytes(key, n, attribute)) return false;
    attribute.has_list = form_.find(key, n, "Value.StringListValue.1") != nullptr ||
                         form_.find(key, n, "Value.BinaryListValue.1") != nullptr;
    input_.add_attribute(range, attribute);
  }
  return true;
}

bool QueryReader::read_entries(const SqsActionInfo& action) {
  std::string key = fmt::format("{}RequestEntry", action.name);
  std::vector<std::uint32_t> numbers;
  if (!read_indexes(key, numbers)) return false;
  input_.entries_given = numbers.size();
  if (numbers.size() > sqs_entries_max) numbers.resize(sqs_entries_max);
  input_.entries.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string prefix = fmt::format("{}.{}.", key, numbers[i]);
    if (!read(action.entry_members, prefix, input_.entries[i])) return false;
  }
  return true;
}

}  // namespace

bool read_query(const Form& form, const SqsActionInfo& action, SqsInput& input, Refusal& refusal) {
  QueryReader reader(form, input, refusal);
  if ((action.members & bit(SqsMember::entries)) != 0) {
    SqsEntryInput none;
    return reader.read(action.members, "", none) && reader.read_entries(action);
  }
  input.entries.resize(1);
  input.entries_given = 1;
  return reader.read(action.members, "", input.entries.front());
}

}  // namespace pawl
