// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/result.h"

namespace pawl {

void SqsResult::text(std::string_view name, std::string_view value) {
  if (is_xml()) return xml_.element(name, value);
  json_.plain_key(name);
  json_.value(value);
}

void SqsResult::plain(std::string_view name, std::string_view value) {
  is_xml() ? xml_.plain_element(name, value) : json_.plain_member(name, value);
}

void SqsResult::truth(std::string_view name, bool value) {
  is_xml() ? xml_.element(name, value ? "true" : "false") : json_.member(name, value);
}

void SqsResult::number(std::string_view name, std::int64_t value) {
  is_xml() ? xml_.element(name, std::to_string(value)) : json_.member(name, value);
}

void SqsResult::key(std::string_view name) {
  if (form_ == SqsForm::query_json && name == "Messages") name = "messages";
  if (form_ == SqsForm::query_json && name == "QueueUrls") name = "queueUrls";
  if (form_ == SqsForm::tree) name.remove_suffix(1);  // without its s
  json_.plain_key(name);
}

void SqsResult::begin_list(std::string_view name) {
  if (is_xml()) return;
  key(name);
  json_.begin_array();
}

void SqsResult::begin_item(std::string_view xml_name) {
  is_xml() ? xml_.open(xml_name) : json_.begin_object();
}

void SqsResult::end_item(std::string_view xml_name) {
  is_xml() ? xml_.close(xml_name) : json_.end_object();
}

void SqsResult::text_item(std::string_view xml_name, std::string_view value) {
  is_xml() ? xml_.element(xml_name, value) : json_.value(value);
}

void SqsResult::end_list() {
  if (!is_xml()) json_.end_array();
}

void SqsResult::begin_map(std::string_view name) {
  if (form_ == SqsForm::query_json || form_ == SqsForm::tree) return begin_list(name);
  if (is_xml()) return;
  key(name);
  json_.begin_object();
}

void SqsResult::pair(std::string_view xml_name, std::string_view key, std::string_view value,
                     std::string_view xml_key) {
  if (form_ == SqsForm::json) return json_.member(key, value);
  begin_item(xml_name);
  text(xml_key, key);
  text("Value", value);
  end_item(xml_name);
}

void SqsResult::begin_pair(std::string_view xml_name, std::string_view key) {
  if (form_ == SqsForm::json) {
    json_.key(key);
    return json_.begin_object();
  }
  begin_item(xml_name);
  text("Name", key);
  if (is_xml()) return xml_.open("Value");
  json_.key("Value");
  json_.begin_object();
}

void SqsResult::end_pair(std::string_view xml_name) {
  if (form_ == SqsForm::json) return json_.end_object();
  end_item("Value");
  end_item(xml_name);
}

void SqsResult::end_map() {
  if (form_ == SqsForm::query_json || form_ == SqsForm::tree) return end_list();
  if (!is_xml()) json_.end_object();
}

}  // namespace pawl
