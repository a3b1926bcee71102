// SPDX-License-Identifier: Apache-2.0
#include "net/admin/settings_page.h"

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl {

std::string settings_text(std::span<const ToldSetting> settings) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const ToldSetting& one : settings) {
    CHECK(!one.section.empty(), "a setting {} of no section", one.key);
    CHECK(!one.source.empty(), "{}.{} has no source", one.section, one.key);
    json.begin_object();
    json.member("section", std::string_view(one.section));
    json.member("key", std::string_view(one.key));
    json.member("value", std::string_view(one.value));
    json.member("source", std::string_view(one.source));
    json.end_object();
  }
  json.end_array();
  text += '\n';
  return text;
}

AdminAnswer settings_page(const AdminRequest&, const AdminFacts& facts) {
  const auto told = facts.settings == nullptr ? nullptr : facts.settings->current().told;
  return {.body = told == nullptr ? "[]\n" : *told, .content_type = "application/json"};
}

}  // namespace pawl
