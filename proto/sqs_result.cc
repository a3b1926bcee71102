#include "proto/sqs_result.h"

namespace pawl {

void SqsResult::text(std::string_view name, std::string_view value) {
  as_json_ ? json_.member(name, value) : xml_.element(name, value);
}

void SqsResult::truth(std::string_view name, bool value) {
  as_json_ ? json_.member(name, value) : xml_.element(name, value ? "true" : "false");
}

void SqsResult::number(std::string_view name, std::int64_t value) {
  as_json_ ? json_.member(name, value) : xml_.element(name, std::to_string(value));
}

void SqsResult::begin_list(std::string_view name) {
  if (!as_json_) return;
  json_.key(name);
  json_.begin_array();
}

void SqsResult::begin_item(std::string_view xml_name) {
  as_json_ ? json_.begin_object() : xml_.open(xml_name);
}

void SqsResult::end_item(std::string_view xml_name) {
  as_json_ ? json_.end_object() : xml_.close(xml_name);
}

void SqsResult::text_item(std::string_view xml_name, std::string_view value) {
  as_json_ ? json_.value(value) : xml_.element(xml_name, value);
}

void SqsResult::end_list() {
  if (as_json_) json_.end_array();
}

void SqsResult::begin_map(std::string_view name) {
  if (!as_json_) return;
  json_.key(name);
  json_.begin_object();
}

void SqsResult::pair(std::string_view xml_name, std::string_view key, std::string_view value,
                     std::string_view xml_key) {
  if (as_json_) return json_.member(key, value);
  xml_.open(xml_name);
  xml_.element(xml_key, key);
  xml_.element("Value", value);
  xml_.close(xml_name);
}

void SqsResult::begin_pair(std::string_view xml_name, std::string_view key) {
  if (as_json_) {
    json_.key(key);
    return json_.begin_object();
  }
  xml_.open(xml_name);
  xml_.element("Name", key);
  xml_.open("Value");
}

void SqsResult::end_pair(std::string_view xml_name) {
  if (as_json_) return json_.end_object();
  xml_.close("Value");
  xml_.close(xml_name);
}

void SqsResult::end_map() {
  if (as_json_) json_.end_object();
}

}  // namespace pawl
