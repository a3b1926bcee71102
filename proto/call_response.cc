// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>
#include <string>

#include "core/base/check.h"
#include "proto/call_state.h"
#include "proto/http/parser.h"
#include "proto/text/json.h"
#include "proto/text/text.h"
#include "proto/text/xml.h"

namespace pawl {
namespace {

using Api = HttpCallState::Api;

// A refusal before the API had the request, as one of its own errors.
std::string_view append_api_refusal(const HttpCallState& s, std::string& body) {
  std::string text = s.sqs.refusal.text;
  make_printable(text);
  JsonWriter json(body);
  json.begin_object();
  json.member("Message", std::string_view(text));
  json.end_object();
  return body;
}

// All headers, with those that let a web page read the response. Never `*`, only listed origins.
struct CorsHeaders {
  std::array<HttpHeader, 8> headers;
  std::size_t count = 0;

  CorsHeaders(const HttpCallState& s, std::span<const HttpHeader> extra) {
    CHECK(extra.size() + (s.preflight ? 5 : 3) <= headers.size(), "{} headers", extra.size());
    for (const HttpHeader& header : extra) headers[count++] = header;
    if (s.cors_origin.empty()) return;
    headers[count++] = {"Access-Control-Allow-Origin", s.cors_origin};
    headers[count++] = {"Vary", "Origin"};
    if (s.preflight) {
      headers[count++] = {"Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS, PUT, DELETE"};
      headers[count++] = {"Access-Control-Allow-Headers", request_headers};
      headers[count++] = {"Access-Control-Max-Age", "600"};
    } else {
      headers[count++] = {"Access-Control-Expose-Headers", answer_headers};
    }
  }

  static constexpr std::string_view request_headers =
      "amz-sdk-invocation-id, amz-sdk-request, authorization, content-type, x-amz-content-sha256, "
      "x-amz-date, x-amz-security-token, x-amz-target, x-amz-user-agent, x-amzn-query-mode, "
      "x-amzn-trace-id";
  static constexpr std::string_view answer_headers =
      "x-amzn-RequestId, x-amzn-ErrorType, x-amzn-query-error, x-pawl-cancel, x-pawl-durability, "
      "Retry-After, x-amz-retry-after, Date";
};

}  // namespace

std::uint16_t status_of(const HttpCallState& s) {
  if (s.api == Api::plain) return s.plain_status;
  if (s.api == Api::dev) return s.dev->status();
  if (s.api == Api::scheduler)
    return s.sqs.refusal ? info(s.sqs.refusal.fault).status : s.scheduler->status();
  return s.api == Api::sns ? s.sns->status() : status_of(s.sqs);
}

std::string_view error_code_of(const HttpCallState& s) {
  if (s.sqs.refusal) {
    const std::string_view shape = info(s.sqs.refusal.fault).shape;
    return shape.substr(shape.find('#') + 1);
  }
  if (s.api == Api::sns) return s.sns->error_code();
  if (s.api == Api::scheduler) return s.scheduler->error_code();
  return status_of(s) < 400 ? std::string_view() : status_text(status_of(s));
}

void write_response(HttpCallState& s, std::string& out, std::string_view date) {
  CHECK(s.api != Api::sns || s.sns != nullptr, "a call of SNS has no state");
  constexpr std::size_t keep_max = 1 << 20;
  thread_local std::string body;
  const auto append = [&](std::string_view type, std::string_view text,
                          std::span<const HttpHeader> extra) {
    const CorsHeaders all(s, extra);
    append_response(out, status_of(s), type, s.sqs.request_id_text(),
                    std::span(all.headers).first(all.count), text, s.keep_alive, s.head_only, date,
                    s.version_minor);
  };
  if (s.api == Api::plain) {
    static constexpr HttpHeader allow[] = {
        {"Allow", "GET, HEAD, POST, OPTIONS"}
    };
    const std::size_t extra = s.plain_status == 204 ? 1 : 0;  // the response to OPTIONS
    return append(s.plain_type, s.plain_body, std::span(allow).first(extra));
  }
  if (s.api == Api::dev) return append(s.dev->content_type(), s.dev->body(), {});
  if (s.api == Api::pawl && !s.sqs.refusal) return append(content_type(s.sqs), s.pawl->body(), {});
  body.clear();
  if (s.api == Api::scheduler) {
    const std::string_view text = s.sqs.refusal ? append_api_refusal(s, body) : s.scheduler->body();
    const HttpHeader type[] = {
        {"X-Amzn-ErrorType", error_code_of(s)}
    };
    append(SchedulerCall::content_type, text, std::span(type).first(type[0].value.empty() ? 0 : 1));
  } else if (s.api == Api::sns) {
    body += xml_declaration;
    s.sns->write_body(body);
    append(xml_type, body, {});
  } else {
    const std::string_view text = write_body(s.sqs, body);
    const SqsHeaders extra(s.sqs);
    append(content_type(s.sqs), text, std::span(extra.headers).first(extra.count));
  }
  if (body.capacity() > keep_max) std::string().swap(body);
}

}  // namespace pawl
