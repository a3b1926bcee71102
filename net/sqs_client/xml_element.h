// SPDX-License-Identifier: Apache-2.0
// XmlElement: a response of the Query protocol, as a tree of elements with text.
//
//   if (const auto response = parse_xml(body)) {
//     response->text_at("CreateTopicResult/TopicArn");
//   }
//
// Attributes, comments and processing instructions are skipped; references of characters and CDATA
// are text. A document type is refused: it could define entities.
//
// Limits: depth_max levels. The caller limits the size of the text.
// Errors: no value for a text that is no such XML.
// Owner:  values.
// Source: XML 1.0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::sqs_client {

struct XmlElement {
  static constexpr std::size_t depth_max = 32;

  std::string name;
  std::string text;  // of this element, without that of its children
  std::vector<XmlElement> children;

  // The first child of that name; null: there is none.
  const XmlElement* child(std::string_view wanted) const;
  // The element at the end of a path of names such as "Error/Code"; null: there is none.
  const XmlElement* at(std::string_view path) const;
  // Its text; empty: there is none.
  std::string text_at(std::string_view path) const;
};

std::optional<XmlElement> parse_xml(std::string_view document);

}  // namespace pawl::sqs_client
