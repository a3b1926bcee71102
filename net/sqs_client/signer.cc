// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/signer.h"

#include <charconv>
#include <utility>

#include "core/base/check.h"

namespace pawl::sqs_client {
namespace {

constexpr std::string_view placeholder_date = "20260101T000000Z";
constexpr std::size_t day_bytes = 8;

}  // namespace

RequestSigner::RequestSigner(std::string host, SigningKey key, std::string region, const Api& api)
    : host_(std::move(host)),
      key_(std::move(key)),
      region_(std::move(region)),
      api_(api),
      signed_headers_("host;x-amz-date") {
  CHECK(!api_.name.empty() && !api_.service.empty(), "an API without name or service");
  if (key_.id.empty()) key_.session_token.clear();
  if (!key_.session_token.empty()) signed_headers_ += ";x-amz-security-token";
  if (has_target()) signed_headers_ += ";x-amz-target";
}

PreparedHead RequestSigner::head(std::string_view action) const {
  CHECK(!api_.is_rest, "{} without a path", action);
  PreparedHead made;
  std::string& out = made.bytes;
  made.action = "POST\n/\n\n";
  out = "POST / HTTP/1.1\r\nHost: " + host_ + "\r\n";
  if (api_.is_query()) {
    out += "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n";
  } else {
    made.target.append(api_.name).append(".").append(action);
    out += "X-Amz-Target: " + made.target + "\r\nContent-Type: application/x-amz-json-1.0\r\n";
  }
  append_common(made);
  return made;
}

PreparedHead RequestSigner::head(const RestAction& action) const {
  CHECK(api_.is_rest && action.path.starts_with('/'), "{} of {}", action.name, api_.name);
  PreparedHead made;
  made.action.append(action.method).append("\n").append(action.path).append("\n");
  made.action.append(action.query).append("\n");
  made.bytes.append(action.method).append(" ").append(action.path);
  if (!action.query.empty()) made.bytes.append("?").append(action.query);
  made.bytes += " HTTP/1.1\r\nHost: " + host_ + "\r\nContent-Type: application/json\r\n";
  append_common(made);
  return made;
}

// The headers that all protocols have.
void RequestSigner::append_common(PreparedHead& made) const {
  std::string& out = made.bytes;
  if (!key_.session_token.empty())
    out.append("X-Amz-Security-Token: ").append(key_.session_token).append("\r\n");
  out.append("X-Amz-Date: ");
  made.date_at = out.size();
  out.append(placeholder_date).append("\r\nAuthorization: AWS4-HMAC-SHA256 Credential=");
  out.append(key_.id.empty() ? "test" : key_.id).append("/");
  made.scope_at = out.size();
  out.append(placeholder_date.substr(0, day_bytes)).append("/" + region_ + "/");
  out.append(api_.service).append("/aws4_request");
  out.append(", SignedHeaders=").append(signed_headers_).append(", Signature=");
  made.signature_at = out.size();
  out.append(2 * Sha256{}.size(), '0').append("\r\nContent-Length: ");
}

void RequestSigner::set_time(std::time_t now) {
  if (now == time_) return;
  time_ = now;
  std::tm utc{};
  CHECK(::gmtime_r(&now, &utc) != nullptr, "the time {} has no date", now);
  char text[32];
  date_.assign(text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc));
  CHECK(date_.size() == placeholder_date.size(), "the date {}", date_);
  const std::string day = date_.substr(0, day_bytes);
  if (scope_.starts_with(day)) return;
  scope_ = day + "/" + region_ + "/" + std::string(api_.service) + "/aws4_request";
  day_key_ = hmac_sha256("AWS4" + key_.secret, day);
  day_key_ = hmac_sha256(view_of(day_key_), region_);
  day_key_ = hmac_sha256(view_of(day_key_), api_.service);
  day_key_ = hmac_sha256(view_of(day_key_), "aws4_request");
}

void RequestSigner::append(std::string& out, const PreparedHead& head, std::string_view body,
                           std::time_t now) {
  const std::size_t begin = out.size();
  char digits[24];
  const auto length = std::to_chars(digits, digits + sizeof digits, body.size());
  CHECK(length.ec == std::errc(), "a body of {} bytes", body.size());
  out.append(head.bytes).append(digits, length.ptr).append("\r\n\r\n").append(body);
  sign(out, begin, out.size() - body.size(), head, now);
}

void RequestSigner::sign(std::string& out, std::size_t begin, std::size_t body,
                         const PreparedHead& head, std::time_t now) {
  if (key_.id.empty()) return;
  CHECK(begin + head.bytes.size() <= body && body <= out.size(), "a body at {} of {}", body,
        out.size());
  set_time(now);
  canonical_.assign(head.action).append("host:");
  canonical_.append(host_).append("\nx-amz-date:").append(date_);
  if (!key_.session_token.empty())
    canonical_.append("\nx-amz-security-token:").append(key_.session_token);
  if (has_target()) canonical_.append("\nx-amz-target:").append(head.target);
  canonical_.append("\n\n").append(signed_headers_).append("\n");
  append_hex(canonical_, sha256(std::string_view(out).substr(body)));
  to_sign_ = "AWS4-HMAC-SHA256\n";
  to_sign_.append(date_).append("\n").append(scope_).append("\n");
  append_hex(to_sign_, sha256(canonical_));
  canonical_.clear();
  append_hex(canonical_, hmac_sha256(view_of(day_key_), to_sign_));
  out.replace(begin + head.date_at, date_.size(), date_);
  out.replace(begin + head.scope_at, day_bytes, date_, 0, day_bytes);
  out.replace(begin + head.signature_at, canonical_.size(), canonical_);
}

}  // namespace pawl::sqs_client
