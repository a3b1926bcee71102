// SPDX-License-Identifier: Apache-2.0
#include "tests/proto/sqs/forms.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <iterator>
#include <map>
#include <utility>

namespace pawl {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Members that have several values, and what one of them is called in a form.
const std::map<std::string_view, std::string_view> lists = {
    {"AttributeNames",              "AttributeName"             },
    {"MessageSystemAttributeNames", "MessageSystemAttributeName"},
    {"MessageAttributeNames",       "MessageAttributeName"      },
    {"TagKeys",                     "TagKey"                    },
    {"AWSAccountIds",               "AWSAccountId"              },
    {"Actions",                     "ActionName"                },
    {"Attributes",                  "Attribute"                 },
    {"tags",                        "Tag"                       },
    {"Tags",                        "Tag"                       },
    {"MessageAttributes",           "MessageAttribute"          },
    {"MessageSystemAttributes",     "MessageSystemAttribute"    },
    {"StringListValues",            "StringListValue"           },
    {"BinaryListValues",            "BinaryListValue"           },
};

class Writer {
 public:
  explicit Writer(std::string_view action) : form_(fmt::format("Action={}", action)) {}

  void members(const object& from, const std::string& prefix, std::string_view action) {
    for (const auto [key, value] : from) {
      const auto list = lists.find(key);
      if (key == "Entries") {
        items(value, fmt::format("{}{}RequestEntry", prefix, action));
      } else if (list == lists.end()) {
        scalar(prefix + std::string(key), value);
      } else {
        items(value, prefix + std::string(list->second));
      }
    }
  }

  std::string form() && { return form_; }

 private:
  void scalar(const std::string& name, const element& value) {
    if (value.is_null()) return;
    std::string_view text;
    const bool is_text = value.get_string().get(text) == simdjson::SUCCESS;
    form_ += fmt::format("&{}={}", name,
                         percent_encoded(is_text ? std::string(text) : simdjson::minify(value)));
  }

  // An array, or the pairs of a map.
  void items(const element& value, const std::string& name) {
    array list;
    object map;
    int n = 0;
    if (value.get_array().get(list) == simdjson::SUCCESS) {
      for (const element item : list) one(fmt::format("{}.{}", name, ++n), item);
    } else if (value.get_object().get(map) == simdjson::SUCCESS) {
      const bool tags = name.ends_with("Tag");
      for (const auto [key, item] : map) {
        const std::string prefix = fmt::format("{}.{}.", name, ++n);
        form_ += fmt::format("&{}{}={}", prefix, tags ? "Key" : "Name", percent_encoded(key));
        one(prefix + "Value", item);
      }
    }
  }

  void one(const std::string& name, const element& value) {
    object inner;
    if (value.get_object().get(inner) == simdjson::SUCCESS) {
      members(inner, name + ".", "");
    } else {
      scalar(name, value);
    }
  }

  std::string form_;
};

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) out += fmt::format("%{:02X}", c & 0xFF);
  return out;
}

std::string xml_unescaped(std::string_view text) {
  std::string out(text);
  const std::pair<std::string_view, std::string_view> escapes[] = {
      {"&lt;",   "<" },
      {"&gt;",   ">" },
      {"&quot;", "\""},
      {"&#xD;",  "\r"},
      {"&amp;",  "&" }
  };
  for (const auto& [escape, character] : escapes) {
    for (std::size_t at = 0; (at = out.find(escape, at)) != std::string::npos; ++at) {
      out.replace(at, escape.size(), character);
    }
  }
  return out;
}

std::string form_of(std::string_view action, std::string_view json_body) {
  simdjson::dom::parser parser;
  element document;
  object members;
  if (parser.parse(json_body.data(), json_body.size()).get(document) != simdjson::SUCCESS ||
      document.get_object().get(members) != simdjson::SUCCESS) {
    return {};
  }
  Writer writer(action);
  writer.members(members, "", action);
  return std::move(writer).form();
}

}  // namespace pawl
