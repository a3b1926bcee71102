// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/sqs_client.h"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/curl_stream.h"
#include "net/sqs_client/http_response.h"
#include "net/sqs_client/plain_stream.h"
#include "proto/text/text.h"

namespace pawl::sqs_client {
namespace {

// A value of a header line.
bool is_header_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; });
}

// Empty, or the first option that cannot be used.
std::string problem_of(const ClientOptions& options) {
  const SigningKey& key = options.key;
  if (key.id.empty() != key.secret.empty())
    return std::string("the access key has ") + (key.id.empty() ? "a secret" : "an id") +
           " but no " + (key.id.empty() ? "id" : "secret") +
           ". Set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither";
  const std::pair<const char*, std::string_view> values[] = {
      {"AWS_ACCESS_KEY_ID", key.id           },
      {"AWS_SESSION_TOKEN", key.session_token},
      {"the region",        options.region   },
  };
  for (const auto& [name, value] : values) {
    if (!is_header_text(value))
      return std::string(name) + " has characters outside printable ASCII";
  }
  if (options.region.empty()) return "the region is empty; us-east-1 is the usual one";
  return {};
}

// True: the server has closed the idle connection, or sent bytes that nobody asked for.
bool is_stale(const Stream& stream) {
  return wait_until(stream.descriptor(), POLLIN, std::chrono::steady_clock::now());
}

// True: the endpoint did not accept the signature, or asks for one. SQS reports most of these with
// status 400.
bool concerns_signature(int status, std::string_view code) {
  constexpr int forbidden = 403;
  constexpr std::string_view codes[] = {"IncompleteSignature",       "InvalidClientTokenId",
                                        "InvalidSignatureException", "MissingAuthenticationToken",
                                        "SignatureDoesNotMatch",     "UnrecognizedClientException"};
  return status == forbidden || std::ranges::find(codes, code) != std::end(codes);
}

Response taken(const HttpResponse& response) {
  return {response.status,
          response.chunked ? join_chunks(response.body) : std::string(response.body),
          std::string(response.cancelled), std::string(response.error_code)};
}

}  // namespace

SqsClient::SqsClient(ClientOptions options, Endpoint endpoint)
    : options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      signer_(host_header(endpoint_), options_.key, options_.region, options_.api) {
  CHECK(is_plain_name(options_.api.name), "the API {}", options_.api.name);
  CHECK(options_.response_timeout.count() > 0, "a timeout of {} ms",
        options_.response_timeout.count());
}

std::expected<SqsClient, CallError> SqsClient::make(ClientOptions options) {
  auto endpoint = parse_endpoint(options.url);
  const std::string problem = endpoint ? problem_of(options) : endpoint.error();
  if (!problem.empty())
    return std::unexpected(CallError{.kind = ErrorKind::bad_options, .text = problem + "."});
  return SqsClient(std::move(options), std::move(*endpoint));
}

std::expected<Response, CallError> SqsClient::call(std::string_view action, std::string_view body) {
  CHECK(is_plain_name(action), "the action {}", action);
  std::string form;
  if (options_.api.is_query()) {
    CHECK(!body.starts_with('{'), "JSON in a call of {}", options_.api.name);
    form.append("Action=").append(action).append("&Version=").append(options_.api.version);
    if (!body.empty()) form.append("&").append(body);
    body = form;
  }
  return send(action, signer_.head(action), body);
}

std::expected<Response, CallError> SqsClient::call(const RestAction& action,
                                                   std::string_view body) {
  CHECK(body.empty() || body.starts_with('{'), "the body of {} is no object", action.name);
  return send(action.name, signer_.head(action), body);
}

std::expected<Response, CallError> SqsClient::send(std::string_view action,
                                                   const PreparedHead& head,
                                                   std::string_view body) {
  if (stream_ && is_stale(*stream_)) stream_.reset();
  if (const auto connected = connect(); !connected) return std::unexpected(connected.error());
  std::string request;
  signer_.append(request, head, body, std::time(nullptr));
  auto response = exchange(action, request);
  if (!response) {
    stream_.reset();
    return response;
  }
  if (response->status != 200) return std::unexpected(refusal(action, *response));
  return response;
}

std::expected<void, CallError> SqsClient::connect() {
  if (stream_) return {};
  auto opened = endpoint_.tls ? open_curl_stream(endpoint_, options_.stream)
                              : open_plain_stream(endpoint_, options_.stream);
  if (!opened) return std::unexpected(std::move(opened.error()));
  stream_ = std::move(*opened);
  return {};
}

// Sends and receives by turns: a server may refuse a request before it has read all of it.
std::expected<Response, CallError> SqsClient::exchange(std::string_view action,
                                                       std::string_view request) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + options_.response_timeout;
  std::string received;
  bool may_send = true;  // false: the peer reads no more, but its response may be there
  do {
    const Stream::Count sent = may_send ? stream_->send(request) : 0;
    may_send = sent && *sent < request.size();
    request.remove_prefix(sent.value_or(0));
    const Stream::Count got = stream_->receive(received);
    const HttpResponse response = read_response(received);
    if (received.size() > options_.response_bytes_max)
      return std::unexpected(failure(ErrorKind::too_large, action));
    if (response.state == HttpResponse::State::broken ||
        (response.status == 200 && !response.has_length))
      return std::unexpected(failure(ErrorKind::broken, action));
    if (response.state == HttpResponse::State::complete) {
      Response whole = taken(response);
      const bool clean = request.empty() && response.bytes == received.size();
      if (!clean || !response.keep_alive) stream_.reset();
      return whole;
    }
    if (!got) return std::unexpected(failure(ErrorKind::closed, action, got.error()));
    if (*got > 0 || sent.value_or(0) > 0) continue;
    const short events = static_cast<short>(POLLIN | (may_send ? POLLOUT : 0));
    if (!wait_until(stream_->descriptor(), events, deadline)) break;
  } while (Clock::now() < deadline);
  return std::unexpected(failure(ErrorKind::timed_out, action));
}

CallError SqsClient::failure(ErrorKind kind, std::string_view action,
                             const std::string& reason) const {
  const std::string url = url_of(endpoint_), call(action);
  CallError error{.kind = kind};
  switch (kind) {
    case ErrorKind::timed_out:
      error.text = url + " did not respond to " + call + " within " +
                   std::to_string(options_.response_timeout.count()) +
                   " ms. The call may have been carried out.";
      break;
    case ErrorKind::closed:
      error.text = url + " closed the connection before its response to " + call +
                   " was complete (" + reason + "). The call may have been carried out.";
      break;
    case ErrorKind::too_large:
      error.text = "the response of " + url + " to " + call + " has more than " +
                   std::to_string(options_.response_bytes_max) +
                   " bytes, the limit. Ask for less in one call.";
      break;
    default:
      CHECK(kind == ErrorKind::broken, "an error of kind {}", static_cast<int>(kind));
      error.text = url + " does not respond to " + call +
                   " in HTTP/1.1. Is this the HTTP port of an SQS endpoint?";
  }
  return error;
}

CallError SqsClient::refusal(std::string_view action, const Response& response) const {
  ServiceError service = service_error_of(response.body);
  if (service.code.empty() && is_plain_name(response.error_code))
    service.code = response.error_code;
  CallError error{.kind = ErrorKind::refused,
                  .status = response.status,
                  .code = service.code,
                  .message = service.message};
  error.text = url_of(endpoint_) + " refuses " + std::string(action) + ": " +
               describe(service, response.status);
  if (options_.key.id.empty() && concerns_signature(response.status, service.code))
    error.text += " The call was not signed: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
  return error;
}

}  // namespace pawl::sqs_client
