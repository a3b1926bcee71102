// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/xml_element.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "core/base/check.h"

namespace pawl::sqs_client {
namespace {

constexpr std::string_view white_space = " \t\r\n";

struct NamedCharacter {
  std::string_view name;
  char character;
};
constexpr NamedCharacter named_characters[] = {
    {"amp",  '&' },
    {"apos", '\''},
    {"gt",   '>' },
    {"lt",   '<' },
    {"quot", '"' },
};

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80 | (code >> shift & 0x3F));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    CHECK(code <= 0x10FFFF, "the character {}", code);
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// `name` is between & and ;.
bool append_reference(std::string& out, std::string_view name) {
  if (!name.starts_with('#')) {
    const auto* const found = std::ranges::find(named_characters, name, &NamedCharacter::name);
    if (found == std::end(named_characters)) return false;
    out += found->character;
    return true;
  }
  name.remove_prefix(1);
  const bool hex = name.starts_with('x');
  if (hex) name.remove_prefix(1);
  std::uint32_t code = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, code, hex ? 16 : 10);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (error != std::errc() || stop != end || code == 0 || code > 0x10FFFF || surrogate)
    return false;
  append_utf8(out, code);
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view document) : rest_(document) {}

  std::optional<XmlElement> parse() {
    open_.emplace_back();  // holds the root
    while (!rest_.empty()) {
      if (!(rest_.starts_with('<') ? take_markup() : take_text())) return std::nullopt;
    }
    if (open_.size() != 1 || open_.front().children.size() != 1) return std::nullopt;
    return std::move(open_.front().children.front());
  }

 private:
  bool skip_past(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == rest_.npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  bool take_markup() {
    constexpr std::string_view cdata = "<![CDATA[", cdata_end = "]]>";
    if (rest_.starts_with("<?")) return skip_past("?>");
    if (rest_.starts_with("<!--")) return skip_past("-->");
    if (rest_.starts_with(cdata)) {
      const std::size_t end = rest_.find(cdata_end);
      if (end == rest_.npos || open_.size() == 1) return false;
      open_.back().text.append(rest_.substr(cdata.size(), end - cdata.size()));
      rest_.remove_prefix(end + cdata_end.size());
      return true;
    }
    return rest_.starts_with("</") ? take_end() : take_start();
  }

  bool take_start() {
    CHECK(rest_.starts_with('<') && !open_.empty(), "no start of an element");
    rest_.remove_prefix(1);
    const std::size_t name = rest_.find_first_of(" \t\r\n/>");
    if (name == 0 || name == rest_.npos || rest_.starts_with('!')) return false;
    if (open_.size() > XmlElement::depth_max) return false;
    open_.emplace_back().name = rest_.substr(0, name);
    rest_.remove_prefix(name);
    char quote = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        const bool empty = i > 0 && rest_[i - 1] == '/';
        rest_.remove_prefix(i + 1);
        if (empty) close();
        return true;
      }
    }
    return false;
  }

  bool take_end() {
    CHECK(rest_.starts_with("</"), "no end of an element");
    rest_.remove_prefix(2);
    const std::string& name = open_.back().name;
    if (open_.size() == 1 || !rest_.starts_with(name)) return false;
    rest_.remove_prefix(name.size());
    rest_.remove_prefix(std::min(rest_.find_first_not_of(white_space), rest_.size()));
    if (!rest_.starts_with('>')) return false;
    rest_.remove_prefix(1);
    close();
    return true;
  }

  void close() {
    CHECK(open_.size() > 1, "the root is closed twice");
    XmlElement done = std::move(open_.back());
    open_.pop_back();
    open_.back().children.push_back(std::move(done));
  }

  bool take_text() {
    const std::size_t end = std::min(rest_.find('<'), rest_.size());
    std::string_view raw = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (open_.size() == 1) return raw.find_first_not_of(white_space) == raw.npos;
    std::string& text = open_.back().text;
    while (!raw.empty()) {
      const std::size_t mark = std::min(raw.find('&'), raw.size());
      text.append(raw.substr(0, mark));
      raw.remove_prefix(mark);
      if (raw.empty()) break;
      const std::size_t semicolon = raw.find(';');
      if (semicolon == raw.npos || !append_reference(text, raw.substr(1, semicolon - 1)))
        return false;
      raw.remove_prefix(semicolon + 1);
    }
    return true;
  }

  std::string_view rest_;
  std::vector<XmlElement> open_;  // the elements around the present place
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto found = std::ranges::find(children, wanted, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

const XmlElement* XmlElement::at(std::string_view path) const {
  const XmlElement* found = this;
  while (found != nullptr && !path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    found = found->child(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return found;
}

std::string XmlElement::text_at(std::string_view path) const {
  const XmlElement* const found = at(path);
  return found == nullptr ? std::string() : found->text;
}

std::optional<XmlElement> parse_xml(std::string_view document) { return Parser(document).parse(); }

}  // namespace pawl::sqs_client
