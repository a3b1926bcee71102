// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/sigv4.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bitset>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/http/strictness.h"
#include "proto/text/append.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view terminator = "aws4_request";
constexpr std::string_view date_form = "00000000T000000Z";  // 0 for any digit
constexpr std::string_view services[] = {"sqs", "sns", "scheduler"};
constexpr std::size_t scope_max = 8 + 1 + SignatureVerifier::region_max + 1 + 9;

// The string to sign: algorithm, date, day/region/service, terminator, and 64 hex digits.
static_assert(algorithm.size() + 1 + date_form.size() + 1 + scope_max + 1 + terminator.size() + 1 +
                  64 <=
              hmac_message_max);

bool all_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

void append_escaped(std::string& out, std::string_view text, bool keep_slash) {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (unreserved(c) || (keep_slash && c == '/')) {
      out += c;
    } else {
      const auto byte = static_cast<std::uint8_t>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}

// True: a parameter other than `allowed` occurs twice.
bool repeats_another(const Form& form, std::string_view allowed) {
  std::vector<std::pair<std::string_view, std::string_view>> others;
  for (const Form::Param& param : form.params())
    if (param.key != allowed) others.emplace_back(param.key, param.value);
  return repeated_name(others).has_value();
}

// Appends the canonical path: no empty or `.` segments, `..` resolved, escaped once more than on
// the wire.
void append_path(std::string& out, std::string_view path) {
  const std::size_t start = out.size();
  const bool slash_last = path.ends_with('/');
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") {
      out += '/';
      append_escaped(out, segment, false);
    } else if (out.size() > start) {
      out.resize(out.rfind('/'));
    }
  }
  if (slash_last || out.size() == start) out += '/';
}

// Collapses runs of blanks to one; the parser has already trimmed the value.
void append_value(std::string& out, std::string_view value) {
  if (!value.contains('\t') && !value.contains("  ")) {
    out += value;
    return;
  }
  bool after_blank = false;
  for (const char c : value) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) out += c;
    if (blank && !after_blank) out += ' ';
    after_blank = blank;
  }
}

// Removes and returns the text before the next `separator`; the separator is removed too.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = 0;
  const std::string_view part = text.substr(at, digits);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return number;
}

// 20260102T030405Z
std::optional<Instant> parse_date(std::string_view text) {
  if (text.size() != date_form.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (date_form[i] == '0' ? !digit : text[i] != date_form[i]) return std::nullopt;
  }
  using namespace std::chrono;
  const auto at = [&](std::size_t i, std::size_t digits) {
    int number = 0;
    for (const char c : text.substr(i, digits)) number = number * 10 + (c - '0');
    return number;
  };
  const year_month_day day{year(at(0, 4)), month(static_cast<unsigned>(at(4, 2))),
                           std::chrono::day(static_cast<unsigned>(at(6, 2)))};
  const int hour = at(9, 2), minute = at(11, 2), second = at(13, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = sys_days(day).time_since_epoch().count();
  return Instant{(((days * 24 + hour) * 60 + minute) * 60 + second) * 1000};
}

constexpr std::uint8_t not_hex = 0xff;
constexpr std::array<std::uint8_t, 256> hex_values = [] {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::uint8_t, 256> table;
  table.fill(not_hex);
  for (std::size_t i = 0; i < digits.size(); ++i)
    table[static_cast<std::uint8_t>(digits[i])] = static_cast<std::uint8_t>(i);
  return table;
}();

bool parse_digest(std::string_view hex, Sha256& out) {
  if (hex.size() != 2 * out.size()) return false;
  unsigned seen = 0;  // all values; bits above 15: a character is no digit
  for (std::size_t i = 0; i < out.size(); ++i) {
    const unsigned high = hex_values[static_cast<std::uint8_t>(hex[2 * i])];
    const unsigned low = hex_values[static_cast<std::uint8_t>(hex[2 * i + 1])];
    seen |= high | low;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return seen <= 15;
}

// The place of the header of that name, nothing unless there is exactly one.
std::optional<std::size_t> only_header(const HttpRequest& http, std::string_view name) {
  if (const HeaderName known = header_name(name); known != HeaderName::other) {
    const std::size_t place = http.index.first(known);
    if (place == HeaderIndex::none || http.index.repeated(known)) return std::nullopt;
    return place;
  }
  const auto named = [name](const HttpHeader& h) { return equals_ignoring_case(h.name, name); };
  const auto found = std::ranges::find_if(http.headers, named);
  if (found == http.headers.end()) return std::nullopt;
  if (std::find_if(found + 1, http.headers.end(), named) != http.headers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - http.headers.begin());
}

// AWS4<secret> -> day -> region -> service -> aws4_request
Sha256 derive(const std::string& secret, std::string_view scope) {
  std::array<char, 4 + Keyring::secret_max> first{'A', 'W', 'S', '4'};
  CHECK(secret.size() <= Keyring::secret_max);
  secret.copy(first.data() + 4, secret.size());
  Sha256 key = hmac_sha256({first.data(), 4 + secret.size()}, take(scope, '/'));
  OPENSSL_cleanse(first.data(), first.size());
  key = hmac_sha256(view_of(key), take(scope, '/'));
  key = hmac_sha256(view_of(key), scope);
  return hmac_sha256(view_of(key), terminator);
}

bool is_amz(std::string_view name) {
  constexpr std::string_view head = "x-amz-";
  return name.size() > head.size() && (name.front() | 0x20) == 'x' &&
         starts_with_ignoring_case(name, head);
}

}  // namespace

// The parts of a signature. Views into the request or into form_.
struct SignatureVerifier::Claim {
  std::string_view credential, signed_headers, date;
  std::string_view key_id, day, scope;  // parts of the credential; scope is day/region/service
  Sha256 signature{};
  std::int64_t expires = 0;  // of a presigned request
  bool presigned = false;

  AuthFault read_header(std::string_view value);
  AuthFault read_query(const Form& form);
  bool read_credential();
  AuthFault check_time(Instant now, SignatureTime& time) const;
};

struct SignatureVerifier::Derived {
  Sha256 print{};  // of the key, from its Keyring
  Sha256 key{};
  std::array<char, scope_max> scope{};
  std::size_t scope_size = 0;  // 0: not used

  bool is(const Sha256& of, std::string_view in) const {
    return scope_size != 0 && std::string_view(scope.data(), scope_size) == in && print == of;
  }
  void set(const Sha256& of, std::string_view in, const Sha256& to) {
    CHECK(in.size() <= scope.size(), "a scope of {} bytes", in.size());
    print = of;
    key = to;
    scope_size = in.copy(scope.data(), scope.size());
  }
};

// AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...
AuthFault SignatureVerifier::Claim::read_header(std::string_view value) {
  if (take(value, ' ') != algorithm) return AuthFault::bad_form;
  std::string_view hex;
  while (!value.empty()) {
    std::string_view part = take(value, ',');
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::string_view name = take(part, '=');
    std::string_view* const into = name == "Credential"      ? &credential
                                   : name == "SignedHeaders" ? &signed_headers
                                   : name == "Signature"     ? &hex
                                                             : nullptr;
    if (into == nullptr || !into->empty() || part.empty()) return AuthFault::bad_form;
    *into = part;
  }
  if (credential.empty() || signed_headers.empty() || !parse_digest(hex, signature)) {
    return AuthFault::bad_form;
  }
  return read_credential() ? AuthFault::none : AuthFault::bad_credential;
}

AuthFault SignatureVerifier::Claim::read_query(const Form& form) {
  const auto given = [&](std::string_view name) {
    const std::string_view* value = form.find(name);
    return value == nullptr ? std::string_view() : *value;
  };
  presigned = true;
  credential = given("X-Amz-Credential");
  signed_headers = given("X-Amz-SignedHeaders");
  date = given("X-Amz-Date");
  if (given("X-Amz-Algorithm") != algorithm || credential.empty() || signed_headers.empty() ||
      !parse_digest(given("X-Amz-Signature"), signature)) {
    return AuthFault::bad_form;
  }
  const std::string_view seconds = given("X-Amz-Expires");
  if (seconds.empty() || seconds.size() > 6 || !all_digits(seconds)) return AuthFault::bad_expires;
  expires = *number_at(seconds, 0, seconds.size());
  if (expires < 1 || expires > expires_max) return AuthFault::bad_expires;
  return read_credential() ? AuthFault::none : AuthFault::bad_credential;
}

bool SignatureVerifier::Claim::read_credential() {
  std::string_view rest = credential;
  key_id = take(rest, '/');
  scope = rest;
  day = take(rest, '/');
  const std::string_view region = take(rest, '/'), service = take(rest, '/');
  scope = scope.substr(0, day.size() + 1 + region.size() + 1 + service.size());
  return !key_id.empty() && key_id.size() <= Keyring::id_max && day.size() == 8 &&
         !region.empty() && region.size() <= region_max &&
         std::ranges::all_of(region, unreserved) &&
         std::ranges::find(services, service) != std::end(services) && rest == terminator;
}

AuthFault SignatureVerifier::Claim::check_time(Instant now, SignatureTime& time) const {
  const std::optional<Instant> at = parse_date(date);
  if (!at || !date.starts_with(day)) return AuthFault::bad_date;
  const Duration valid = presigned ? seconds(expires) : skew_max;
  time = {*at, now, *at > now ? skew_max : valid};
  if (*at > now + skew_max) return AuthFault::not_yet_valid;
  return now > *at + valid ? AuthFault::expired : AuthFault::none;
}

std::string_view named_key_id(const HttpRequest& http) {
  constexpr std::string_view in_header = "Credential=", in_query = "X-Amz-Credential=";
  const auto* const header = http.header(HeaderName::authorization);
  std::string_view rest = header != nullptr ? *header : http.query;
  const std::string_view name = header != nullptr ? in_header : in_query;
  const std::size_t at = rest.find(name);
  if (at == rest.npos) return {};
  rest.remove_prefix(at + name.size());
  return rest.substr(0, rest.find_first_of("/%,&"));
}

SignatureVerifier::SignatureVerifier()
    : derived_(std::make_unique<std::array<Derived, cached_max>>()) {}

SignatureVerifier::~SignatureVerifier() { OPENSSL_cleanse(derived_.get(), sizeof *derived_); }

AuthFault SignatureVerifier::find_claim(const HttpRequest& http, Claim& claim) {
  // EventBridge Scheduler repeats TagKeys; no request of SQS or SNS has this method.
  const bool repeats = http.method == "DELETE";
  if (form_.parse(http.query, repeats ? Form::Repeats::allowed : Form::Repeats::refused) !=
          Form::Fault::none ||
      (repeats && repeats_another(form_, "TagKeys")))
    return AuthFault::bad_query;
  const bool presigned = form_.find("X-Amz-Algorithm") != nullptr ||
                         form_.find("X-Amz-Credential") != nullptr ||
                         form_.find("X-Amz-Signature") != nullptr;
  const std::string_view* authorization = http.header(HeaderName::authorization);
  const bool repeated = http.index.repeated(HeaderName::authorization);
  if (repeated || (presigned && authorization != nullptr)) return AuthFault::two_signatures;
  if (presigned) return claim.read_query(form_);
  if (authorization == nullptr) return AuthFault::missing;
  if (const AuthFault fault = claim.read_header(*authorization); fault != AuthFault::none) {
    return fault;
  }
  const std::string_view* date = http.header(HeaderName::x_amz_date);
  if (date == nullptr || http.index.repeated(HeaderName::x_amz_date)) return AuthFault::bad_date;
  claim.date = *date;
  return AuthFault::none;
}

void SignatureVerifier::append_query(std::string_view left_out) {
  encoded_.clear();
  pieces_.clear();
  for (const Form::Param& param : form_.params()) {
    if (param.key == left_out) continue;
    Piece& piece = pieces_.emplace_back();
    piece.key = encoded_.size();
    append_escaped(encoded_, param.key, false);
    piece.value = encoded_.size();
    append_escaped(encoded_, param.value, false);
    piece.end = encoded_.size();
  }
  const std::string_view all = encoded_;
  const auto key_of = [all](const Piece& p) { return all.substr(p.key, p.value - p.key); };
  std::ranges::sort(pieces_, {}, [&](const Piece& p) {
    return std::pair(key_of(p), all.substr(p.value, p.end - p.value));
  });
  for (const Piece& piece : pieces_) {
    if (&piece != pieces_.data()) canonical_ += '&';
    canonical_ += key_of(piece);
    canonical_ += '=';
    canonical_ += all.substr(piece.value, piece.end - piece.value);
  }
}

AuthFault SignatureVerifier::append_headers(const HttpRequest& http, const Claim& claim) {
  std::bitset<HttpParser::headers_max> covered;  // places of signed headers
  bool host = false;
  std::string_view before, rest = claim.signed_headers;
  if (rest.ends_with(';')) return AuthFault::bad_signed_headers;
  while (!rest.empty()) {
    const std::string_view name = take(rest, ';');
    const std::optional<std::size_t> place = only_header(http, name);
    const bool lower = std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!place || !lower || name <= before) return AuthFault::bad_signed_headers;
    append_all(canonical_, name, ":");
    append_value(canonical_, http.headers[*place].value);
    canonical_ += '\n';
    covered.set(*place);
    host = host || name == "host";
    before = name;
  }
  if (!host) return AuthFault::unsigned_header;
  for (std::size_t i = 0; i < http.headers.size(); ++i) {
    if (is_amz(http.headers[i].name) && !covered.test(i)) return AuthFault::unsigned_header;
  }
  return AuthFault::none;
}

AuthFault SignatureVerifier::make_canonical(const HttpRequest& http, const Claim& claim) {
  canonical_.clear();
  append_all(canonical_, http.method, "\n");
  append_path(canonical_, http.path);
  canonical_ += '\n';
  append_query("X-Amz-Signature");
  canonical_ += '\n';
  if (const AuthFault fault = append_headers(http, claim); fault != AuthFault::none) return fault;
  append_all(canonical_, "\n", claim.signed_headers, "\n");
  return AuthFault::none;
}

SignatureVerifier::Derived& SignatureVerifier::slot_of(const Sha256& print,
                                                       std::string_view scope) {
  std::uint32_t hash = 0x811C9DC5;  // FNV-1a
  for (const char c : scope) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x01000193;
  hash ^= static_cast<std::uint32_t>(print[0] | print[1] << 8);
  return (*derived_)[hash % cached_max];
}

AuthFault SignatureVerifier::begin(const HttpRequest& http, Instant now, Claim& claim) {
  if (const AuthFault fault = find_claim(http, claim); fault != AuthFault::none) return fault;
  if (const AuthFault fault = claim.check_time(now, time_); fault != AuthFault::none) return fault;
  return make_canonical(http, claim);
}

AuthFault SignatureVerifier::verify(const HttpRequest& http, const Keyring& keys, Instant now,
                                    Identity& out) {
  Claim claim;
  if (const AuthFault fault = begin(http, now, claim); fault != AuthFault::none) return fault;
  const std::size_t body = canonical_.size();
  append_hex(canonical_, sha256(http.body));
  const auto* given = http.header(HeaderName::x_amz_content_sha256);
  const bool same = given == nullptr || *given == std::string_view(canonical_).substr(body);
  return same ? check_signature(claim, keys, out) : AuthFault::body_differs;
}

AuthFault SignatureVerifier::verify_head(const HttpRequest& http, const Keyring& keys, Instant now,
                                         bool& proven) {
  Claim claim;
  proven = false;
  if (const AuthFault fault = begin(http, now, claim); fault != AuthFault::none) return fault;
  const auto* given = http.header(HeaderName::x_amz_content_sha256);
  if (given == nullptr) return AuthFault::none;
  if (Sha256 digest; !parse_digest(*given, digest)) return AuthFault::body_differs;
  canonical_ += *given;
  Identity identity;
  const AuthFault fault = check_signature(claim, keys, identity);
  proven = fault == AuthFault::none;
  return fault;
}

AuthFault SignatureVerifier::check_signature(const Claim& claim, const Keyring& keys,
                                             Identity& out) {
  const Sha256 canonical = sha256(canonical_);
  canonical_.clear();  // from here on, the string to sign
  append_all(canonical_, algorithm, "\n", claim.date, "\n", claim.scope, "/", terminator, "\n");
  append_hex(canonical_, canonical);

  const auto [entry, known] = keys.find(claim.key_id);
  Derived& derived = slot_of(entry->print, claim.scope);
  const bool kept = derived.is(entry->print, claim.scope);
  Sha256 key = kept ? derived.key : derive(entry->key.secret, claim.scope);
  const Sha256 wanted = hmac_sha256(view_of(key), canonical_);
  const bool same = CRYPTO_memcmp(wanted.data(), claim.signature.data(), wanted.size()) == 0;
  if (!same || !known) {
    // A refusal costs one derivation, cached or not: timing must not reveal which keys exist. Keys
    // derived for a wrong signature are not cached, so that nobody can evict the cached ones.
    if (kept) key = derive(entry->key.secret, claim.scope);
    OPENSSL_cleanse(key.data(), key.size());
    return AuthFault::mismatch;
  }
  if (!kept) derived.set(entry->print, claim.scope, key);
  OPENSSL_cleanse(key.data(), key.size());
  out = {entry->key.account, entry->key.id};
  return AuthFault::none;
}

}  // namespace pawl
