// SPDX-License-Identifier: Apache-2.0
#include "proto/text/xml.h"

#include "proto/text/append.h"
#include "proto/text/escape.h"

namespace pawl {
namespace {

constexpr EscapeTable xml_escapes = [] {
  EscapeTable table;
  table.replace('&', "&amp;");
  table.replace('<', "&lt;");
  table.replace('>', "&gt;");
  table.replace('"', "&quot;");
  table.replace('\r', "&#xD;");
  return table;
}();

}  // namespace

void XmlWriter::open(std::string_view name, std::string_view attributes) {
  out_.push_back('<');
  out_.append(name);
  if (!attributes.empty()) {
    out_.push_back(' ');
    out_.append(attributes);
  }
  out_.push_back('>');
}

void XmlWriter::close(std::string_view name) { append_all(out_, "</", name, ">"); }

void XmlWriter::text(std::string_view content) { xml_escapes.append(out_, content); }

void XmlWriter::element(std::string_view name, std::string_view content) {
  open(name);
  text(content);
  close(name);
}

void XmlWriter::plain_element(std::string_view name, std::string_view content) {
  append_all(out_, "<", name, ">", content, "</", name, ">");
}

void XmlWriter::empty(std::string_view name) {
  out_.push_back('<');
  out_.append(name);
  out_.append("/>");
}

}  // namespace pawl
