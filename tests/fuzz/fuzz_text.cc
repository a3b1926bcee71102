// SPDX-License-Identifier: Apache-2.0
// Text: check_text agrees with a plain decoder, base64 survives a round trip, and simdjson reads
// the output of JsonWriter.
#include <simdjson.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/text/base64.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

// Takes one character from the front, by RFC 3629; -1 if it is invalid.
std::int32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc2 ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                                         : 4;
  if (size == 0 || size > text.size() || lead > 0xf4) return -1;
  std::int32_t character = size == 1 ? lead : lead & (0xff >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return -1;
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr std::int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < least[size] || character > 0x10ffff) return -1;
  if (character >= 0xd800 && character <= 0xdfff) return -1;
  text.remove_prefix(size);
  return character;
}

TextFault judge(std::string_view text) {
  bool forbidden = false;
  while (!text.empty()) {
    const std::int32_t c = take_character(text);
    if (c < 0) return TextFault::bad_utf8;
    forbidden =
        forbidden || c == 0xfffe || c == 0xffff || (c < 0x20 && c != 9 && c != 10 && c != 13);
  }
  return forbidden ? TextFault::bad_character : TextFault::none;
}

void run(std::string_view text) {
  CHECK(check_text(text) == judge(text));

  std::string encoded, decoded;
  append_base64(encoded, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  CHECK(decode_base64(encoded, decoded));
  CHECK(decoded == text);
  decoded.clear();
  if (decode_base64(text, decoded)) {
    encoded.clear();
    append_base64(encoded, {reinterpret_cast<const std::uint8_t*>(decoded.data()), decoded.size()});
    CHECK(encoded == text, "two spellings of one value");
  }

  if (!valid_utf8(text)) return;
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("k", text);
  json.end_object();
  simdjson::dom::parser parser;
  std::string_view back;
  CHECK(parser.parse(out)["k"].get(back) == simdjson::SUCCESS);
  CHECK(back == text);
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
