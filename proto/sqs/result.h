// SPDX-License-Identifier: Apache-2.0
// SqsResult: the writer of an action's result, in each form of response.
//
//                    JSON                         Query
//   text             "QueueUrl":"..."             <QueueUrl>...</QueueUrl>
//   list of objects  "Messages":[{...},{...}]     <Message>...</Message><Message>...</Message>
//   list of texts    "QueueUrls":["..."]          <QueueUrl>...</QueueUrl>
//   map of texts     "Attributes":{"k":"v"}       <Attribute><Name>k</Name><Value>v</Value>...
//   map of objects   "M":{"k":{...}}              <M><Name>k</Name><Value>...</Value></M>
//
// The third form is for a Query client that accepts JSON. Its members are those of JSON, but a map
// is a list of Query's pairs: "Attributes":[{"Name":"k","Value":"v"}]. As on AWS, the names of the
// lists of messages and of queue URLs begin in lower case.
//
// The fourth form is LocalStack's JSON for a message: as the third, but named as in Query:
// "Attribute":[{"Name":"k","Value":"v"}].
//
// AWS omits empty lists and maps, except in ListDeadLetterSourceQueues: the caller opens no others.
//
// Errors: none. Owner: the caller's string, appended to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/text/json.h"
#include "proto/text/xml.h"

namespace pawl {

enum class SqsForm : std::uint8_t { json, xml, query_json, tree };

class SqsResult {
 public:
  SqsResult(std::string& out, SqsForm form) : json_(out), xml_(out), form_(form) {}

  // The names of members are pawl's own, and need no escapes.
  void text(std::string_view name, std::string_view value);
  void plain(std::string_view name, std::string_view value);  // a value that needs no escapes
  void truth(std::string_view name, bool value);
  void number(std::string_view name, std::int64_t value);

  void begin_list(std::string_view name);
  void begin_item(std::string_view xml_name);
  void end_item(std::string_view xml_name);
  void text_item(std::string_view xml_name, std::string_view value);
  void end_list();

  void begin_map(std::string_view name);
  void pair(std::string_view xml_name, std::string_view key, std::string_view value,
            std::string_view xml_key = "Name");
  void begin_pair(std::string_view xml_name, std::string_view key);
  void end_pair(std::string_view xml_name);
  void end_map();

 private:
  bool is_xml() const { return form_ == SqsForm::xml; }
  void key(std::string_view name);  // writes the key of a list or map in JSON

  JsonWriter json_;
  XmlWriter xml_;
  SqsForm form_;
};

}  // namespace pawl
