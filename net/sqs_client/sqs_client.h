// SPDX-License-Identifier: Apache-2.0
// SqsClient: calls actions of one endpoint of SQS, SNS or EventBridge Scheduler, one at a time, and
// waits for each response.
//
//   auto client = SqsClient::make({.url = "https://sqs.eu-west-1.amazonaws.com", .key = ...});
//   auto response = client->call("ListQueues", "{}");
//   if (!response) std::fputs(response.error().text.c_str(), stderr);
//
// It speaks the JSON protocol, to SNS the Query protocol, to the scheduler REST-JSON. The
// connection is made by the first call and kept for the next ones; after an error the next call
// makes a new one. No call is repeated: a failed send may have stored its message.
//
// Units:  milliseconds, bytes.
// Limits: connect_timeout without the time of the name server; response_timeout from the connection
//         to the whole response; response_bytes_max with its head.
// Errors: CallError. Any status but 200 is one, with kind refused.
// Owner:  one thread.
// Source: AWS JSON 1.0 and restJson1 protocols (Smithy); SQS and SNS API References.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "net/sqs_client/call_error.h"
#include "net/sqs_client/endpoint.h"
#include "net/sqs_client/environment.h"
#include "net/sqs_client/signer.h"
#include "net/sqs_client/stream.h"

namespace pawl::sqs_client {

struct ClientOptions {
  std::string url;  // of endpoint.h; empty: local_endpoint
  Api api = sqs_api;
  SigningKey key;  // without an id requests are not signed
  std::string region = default_region;
  StreamOptions stream;
  std::chrono::milliseconds response_timeout{30'000};  // a long poll takes up to 20 s
  std::size_t response_bytes_max = 16 << 20;
};

struct Response {
  int status = 0;
  std::string body;
  std::string cancelled = {};   // the header x-pawl-cancel
  std::string error_code = {};  // the header x-amzn-errortype, without its namespace
};

class SqsClient {
 public:
  // Checks the options; connects to nothing.
  static std::expected<SqsClient, CallError> make(ClientOptions options);

  // `action` has only letters and digits; `body` is a JSON object, or a QueryBody for SNS.
  std::expected<Response, CallError> call(std::string_view action, std::string_view body);
  // For an API of REST-JSON. The body is empty, or a JSON object.
  std::expected<Response, CallError> call(const RestAction& action, std::string_view body = {});

  const Endpoint& endpoint() const { return endpoint_; }

 private:
  SqsClient(ClientOptions options, Endpoint endpoint);
  std::expected<void, CallError> connect();
  std::expected<Response, CallError> send(std::string_view action, const PreparedHead& head,
                                          std::string_view body);
  std::expected<Response, CallError> exchange(std::string_view action, std::string_view request);
  CallError failure(ErrorKind kind, std::string_view action, const std::string& reason = {}) const;
  CallError refusal(std::string_view action, const Response& response) const;

  ClientOptions options_;
  Endpoint endpoint_;
  RequestSigner signer_;
  std::unique_ptr<Stream> stream_;  // null: the next call connects
};

}  // namespace pawl::sqs_client
