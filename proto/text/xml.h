// SPDX-License-Identifier: Apache-2.0
// XmlWriter: appends the XML of Query responses.
//
//   XmlWriter xml(out);
//   xml.open("Message"); xml.element("Body", body); xml.close("Message");
//
// Text is escaped: & < > " and CR. CR becomes &#xD; because XML readers would turn CRLF into LF and
// the client's check of the body's MD5 would fail. No other character is checked: text is UTF-8 of
// the characters that SQS allows (text.h). Names and attributes are our own literals and are
// written unchanged.
//
// Errors: none; the caller must close() every open() element.
// Owner:  the caller's string, appended to.
// Source: XML 1.0, sections 2.4 and 2.11.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

inline constexpr std::string_view xml_type = "text/xml";
inline constexpr std::string_view xml_declaration = "<?xml version=\"1.0\"?>";

class XmlWriter {
 public:
  explicit XmlWriter(std::string& out) : out_(out) {}

  void open(std::string_view name, std::string_view attributes = {});   // <name attributes>
  void close(std::string_view name);                                    // </name>
  void text(std::string_view content);                                  // escaped
  void element(std::string_view name, std::string_view content);        // <name>content</name>
  void plain_element(std::string_view name, std::string_view content);  // needs no escapes
  void empty(std::string_view name);                                    // <name/>

 private:
  std::string& out_;
};

}  // namespace pawl
