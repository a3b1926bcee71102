#include "proto/xml.h"

namespace pawl {

void XmlWriter::open(std::string_view name, std::string_view attributes) {
  out_.push_back('<');
  out_.append(name);
  if (!attributes.empty()) {
    out_.push_back(' ');
    out_.append(attributes);
  }
  out_.push_back('>');
}

void XmlWriter::close(std::string_view name) {
  out_.append("</");
  out_.append(name);
  out_.push_back('>');
}

void XmlWriter::text(std::string_view content) {
  std::size_t done = 0;  // everything before is written
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string_view escape;
    switch (content[i]) {
      case '&':
        escape = "&amp;";
        break;
      case '<':
        escape = "&lt;";
        break;
      case '>':
        escape = "&gt;";
        break;
      case '"':
        escape = "&quot;";
        break;
      case '\r':
        escape = "&#xD;";
        break;
      default:
        continue;
    }
    out_.append(content, done, i - done);
    out_.append(escape);
    done = i + 1;
  }
  out_.append(content, done, content.size() - done);
}

void XmlWriter::element(std::string_view name, std::string_view content) {
  open(name);
  text(content);
  close(name);
}

void XmlWriter::empty(std::string_view name) {
  out_.push_back('<');
  out_.append(name);
  out_.append("/>");
}

}  // namespace pawl
