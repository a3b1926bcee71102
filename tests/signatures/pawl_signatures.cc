// SPDX-License-Identifier: Apache-2.0
// Verifies what botocore signed, then changes it bit by bit.
//
//   pawl_signatures FILE [MUTATIONS] [SEED]     FILE as signed_requests.py writes it
//
// First every request of the file must be accepted, for the account of its key, and a second round
// must not allocate. Then, MUTATIONS times, one bit of a request is flipped: in its method, path or
// query, in a signed header or in Authorization, or in its body. None may be accepted.
//
// Bits are not flipped where the meaning stays the same:
//   - bit 5 of a letter in the name of a header: names have no case
//   - bit 5 of a hex digit of an escape in the query: %2f is %2F
//   - requests whose path has empty or dot segments: `//` and `/.` are signed as one
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "proto/auth/keys.h"
#include "proto/auth/sigv4.h"
#include "proto/http/parser.h"
#include "proto/http/strictness.h"
#include "proto/text/text.h"
#include "tests/core/allocations.h"
#include "tests/sim/random.h"

namespace pawl {
namespace {

struct Record {
  std::string text;
  Instant at;
};

struct Input {
  Keyring keys;
  std::vector<Record> records;
};

bool read(const char* path, Input& input) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line) && !line.empty()) {
    std::istringstream words(line);
    AccessKey key;
    words >> key.id >> key.secret >> key.account;
    if (input.keys.add(key) != KeyFault::none) return false;
  }
  char head[12];
  while (file.read(head, sizeof head)) {
    std::uint32_t size = 0;
    Record& record = input.records.emplace_back();
    std::memcpy(&size, head, sizeof size);
    std::memcpy(&record.at.ms, head + sizeof size, sizeof record.at.ms);
    record.text.resize(size);
    if (!file.read(record.text.data(), size)) return false;
  }
  return !input.records.empty();
}

const HttpRequest* parse(HttpParser& parser, std::string_view text) {
  for (std::size_t n = 0; !text.empty(); text.remove_prefix(n)) {
    const HttpParser::State state = parser.feed(text, n);
    if (state == HttpParser::State::complete) return &parser.request();
    if (state == HttpParser::State::error) return nullptr;
  }
  return nullptr;
}

double now_s() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// How many were refused; says which, for the first few.
std::size_t verify_all(const Input& input, SignatureVerifier& verifier) {
  std::vector<HttpParser> parsers(input.records.size());
  std::vector<const HttpRequest*> requests;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < parsers.size(); ++i) {
    requests.push_back(parse(parsers[i], input.records[i].text));
    if (requests.back() == nullptr) {
      fmt::print("not HTTP: {}\n{}\n", parsers[i].error_text(), input.records[i].text);
      return input.records.size();
    }
  }
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t allocations = test::allocations();
    const double start = now_s();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Identity who;
      const AuthFault fault = verifier.verify(*requests[i], input.keys, input.records[i].at, who);
      const Keyring::Found key = input.keys.find(who.key_id);
      if (fault == AuthFault::none && key.known && key.entry->key.account == who.account) continue;
      if (++refused <= 5) {
        fmt::print("refused with {}:\n{}\n", static_cast<int>(fault), input.records[i].text);
      }
    }
    const double taken = now_s() - start;
    if (round == 0) continue;
    const std::uint64_t made = test::allocations() - allocations;
    fmt::print("{} requests of botocore's signer: {} refused, {:.2f} us each, {} allocations\n",
               requests.size(), refused, taken * 1e6 / static_cast<double>(requests.size()), made);
    if (made != 0) ++refused;
  }
  return refused;
}

// Bytes of a request; some have bits that are let alone.
struct Part {
  enum class Kind : std::uint8_t { plain, query, header_name };
  std::size_t begin, end;
  Kind kind = Kind::plain;
};

bool is_signed(std::string_view name, std::string_view list) {
  if (equals_ignoring_case(name, "authorization")) return true;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(';'));
    if (equals_ignoring_case(one, name)) return true;
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return false;
}

// The list of names, wherever it is, with `;` between them.
std::string signed_headers(std::string_view text) {
  constexpr std::string_view name = "SignedHeaders=", escape = "%3B";
  const std::size_t at = text.find(name) + name.size();
  std::string_view rest = text.substr(at, text.find_first_of(",& \r", at) - at);
  std::string list;
  while (!rest.empty()) {
    const bool escaped = rest.starts_with(escape);
    list += escaped ? ';' : rest.front();
    rest.remove_prefix(escaped ? escape.size() : 1);
  }
  return list;
}

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  const std::size_t method = text.find(' '), target = text.find(' ', method + 1);
  const std::size_t query = std::min(text.find('?'), target);
  parts.push_back({0, method + 1});
  parts.push_back({method + 1, query});
  if (query < target) parts.push_back({query, target, Part::Kind::query});
  const std::string list = signed_headers(text);
  const std::size_t head = text.find("\r\n\r\n") + 2;
  for (std::size_t line = text.find("\r\n") + 2; line < head;) {
    const std::size_t end = text.find("\r\n", line) + 2, colon = text.find(':', line);
    if (is_signed(text.substr(line, colon - line), list)) {
      parts.push_back({line, colon, Part::Kind::header_name});
      parts.push_back({colon, end});
    }
    line = end;
  }
  if (head + 2 < text.size()) parts.push_back({head + 2, text.size()});
  return parts;
}

bool is_hex_of_escape(std::string_view text, std::size_t at) {
  return std::isxdigit(static_cast<unsigned char>(text[at])) != 0 &&
         (text[at - 1] == '%' || text[at - 2] == '%');
}

bool means_the_same(std::string_view text, const Part& part, std::size_t at, unsigned bit) {
  if (bit != 5 || std::isalpha(static_cast<unsigned char>(text[at])) == 0) return false;
  return part.kind == Part::Kind::header_name ||
         (part.kind == Part::Kind::query && is_hex_of_escape(text, at));
}

bool has_detours(std::string_view text) {
  const std::string_view target = text.substr(0, text.find_first_of("?\r"));
  return target.contains("//") || target.contains("/.");
}

std::size_t mutate(const Input& input, SignatureVerifier& verifier, std::uint64_t many,
                   std::uint64_t seed) {
  sim::Random random(seed);
  std::size_t accepted = 0, not_http = 0;
  const double start = now_s();
  for (std::uint64_t done = 0; done < many;) {
    const Record& record = input.records[random.below(input.records.size())];
    if (has_detours(record.text)) continue;
    std::string text = record.text;
    const std::vector<Part> parts = parts_of(text);
    for (int i = 0; i < 16 && done < many;
         ++i) {  // of one request, since finding its parts takes time
      const Part& part = parts[random.below(parts.size())];
      const std::size_t at = part.begin + random.below(part.end - part.begin);
      const auto bit = static_cast<unsigned>(random.below(8));
      if (means_the_same(text, part, at, bit)) continue;
      ++done;
      text[at] = static_cast<char>(text[at] ^ 1 << bit);
      HttpParser parser;
      const HttpRequest* request = parse(parser, text);
      Identity who;
      if (request == nullptr) {
        ++not_http;
      } else if (verifier.verify(*request, input.keys, record.at, who) == AuthFault::none &&
                 ++accepted <= 5) {
        fmt::print("accepted with bit {} of byte {} turned:\n{}\n", bit, at, text);
      }
      text[at] = record.text[at];
    }
  }
  fmt::print("{} one-bit mutations: {} accepted ({} were not even HTTP), {:.1f} s, seed {}\n", many,
             accepted, not_http, now_s() - start, seed);
  return accepted;
}

int run(int argc, char** argv) {
  Input input;
  if (argc < 2 || !read(argv[1], input)) {
    fmt::print(stderr, "usage: pawl_signatures FILE [MUTATIONS] [SEED]\n");
    return 2;
  }
  const std::uint64_t many = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  SignatureVerifier verifier;
  const std::size_t refused = verify_all(input, verifier);
  const std::size_t accepted = mutate(input, verifier, many, seed);
  const int failed = (refused != 0) + (accepted != 0);
  fmt::print("{} passed, {} failed\n", 2 - failed, failed);
  return failed;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) { return pawl::run(argc, argv); }
