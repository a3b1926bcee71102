// SPDX-License-Identifier: Apache-2.0
// Form, with any bytes: decoded parameters, encoded again, decode to the same; every key finds its
// value; every index listed has a key.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/text/form.h"

namespace pawl {
namespace {

void encode(std::string& out, std::string_view text) {
  constexpr char hex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    out.push_back('%');
    out.push_back(hex[byte >> 4]);
    out.push_back(hex[byte & 15]);
  }
}

void run(std::string_view body) {
  Form form;
  if (form.parse(body) != Form::Fault::none) {
    CHECK(form.params().empty());
    return;
  }
  std::string again;
  for (const Form::Param& p : form.params()) {
    CHECK(form.find(p.key) == &p.value);
    encode(again, p.key);
    again.push_back('=');
    encode(again, p.value);
    again.push_back('&');
  }
  Form other;
  CHECK(other.parse(again) == Form::Fault::none);
  CHECK(other.params().size() == form.params().size());
  for (std::size_t i = 0; i < other.params().size(); ++i) {
    CHECK(other.params()[i].key == form.params()[i].key);
    CHECK(other.params()[i].value == form.params()[i].value);
  }
  std::vector<std::uint32_t> numbers;
  if (!form.indexes("A", numbers)) return;
  for (const std::uint32_t n : numbers) {
    const std::string start = "A." + std::to_string(n);
    bool found = false;
    for (const Form::Param& p : form.params()) {
      found = found || p.key == start || p.key.starts_with(start + ".");
    }
    CHECK(found, "no key begins with {}", start);
  }
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
