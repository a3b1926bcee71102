// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/call_error.h"

#include <algorithm>
#include <optional>

#include "net/sqs_client/xml_element.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"

namespace pawl::sqs_client {
namespace {

std::string text_of(const JsonValue& object, std::string_view key) {
  const std::optional<JsonValue> member = object.member(key);
  return std::string(member ? member->text().value_or("") : "");
}

// The element with the code of an error of the Query protocol; null: there is none.
const XmlElement* error_element(const std::optional<XmlElement>& document) {
  if (!document) return nullptr;
  const XmlElement* const error = document->name == "Error" ? &*document : document->child("Error");
  return error != nullptr && error->child("Code") != nullptr ? error : nullptr;
}

std::string limited(std::string text) {
  if (text.size() > message_bytes_max) text.resize(message_bytes_max);
  make_printable(text);
  return text;
}

}  // namespace

ServiceError service_error_of(std::string_view body) {
  ServiceError error;
  const auto xml = body.starts_with('<') ? parse_xml(body) : std::nullopt;
  JsonDom dom;
  const std::optional<JsonValue> document = dom.parse(body);
  if (document && document->is_object()) {
    error.code = text_of(*document, "__type");
    error.code.erase(0, error.code.rfind('#') + 1);
    error.message = text_of(*document, "message");
    if (error.message.empty()) error.message = text_of(*document, "Message");
  } else if (const XmlElement* const element = error_element(xml); element != nullptr) {
    error.code = element->text_at("Code");
    error.message = element->text_at("Message");
  } else {
    error.message = body.substr(0, std::min(message_bytes_max, body.find_last_not_of("\r\n ") + 1));
  }
  error.code = limited(std::move(error.code));
  error.message = limited(std::move(error.message));
  return error;
}

std::string describe(const ServiceError& error, int status) {
  std::string text = error.code.empty() ? "HTTP " + std::to_string(status) : error.code;
  if (!error.message.empty()) text.append(": ").append(error.message);
  return text;
}

}  // namespace pawl::sqs_client
