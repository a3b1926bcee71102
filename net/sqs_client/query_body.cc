// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/query_body.h"

#include "core/base/check.h"

namespace pawl::sqs_client {

void QueryBody::add(std::string_view name, std::string_view value) {
  CHECK(!name.empty(), "a parameter without a name, of {} bytes", value.size());
  if (!text_.empty()) text_ += '&';
  encode(name);
  text_ += '=';
  encode(value);
}

void QueryBody::add_pairs(std::string_view list, std::string_view key_name,
                          std::string_view value_name, const Pairs& pairs) {
  CHECK(key_name != value_name, "a map of {} twice", key_name);
  std::size_t number = 0;
  for (const auto& [key, value] : pairs) {
    std::string entry(list);
    entry.append(".").append(std::to_string(++number)).append(".");
    add(entry + std::string(key_name), key);
    add(entry + std::string(value_name), value);
  }
}

void QueryBody::encode(std::string_view raw) {
  constexpr std::string_view digits = "0123456789ABCDEF", plain = "-._";
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != plain.npos) {
      text_ += c;
    } else {
      text_.append({'%', digits[byte >> 4], digits[byte & 0xF]});
    }
  }
}

}  // namespace pawl::sqs_client
