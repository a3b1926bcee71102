// SPDX-License-Identifier: Apache-2.0
// RequestSigner: AWS Signature Version 4 of prepared requests, at three SHA-256 and an HMAC each.
// They are calls of an Api: of AWS's JSON protocol, of the Query protocol, or of REST-JSON.
//
// A prepared request has placeholders of the final length; sign() overwrites them:
//   X-Amz-Date: 20260101T000000Z
//   Authorization: ... Credential=ID/20260101/REGION/sqs/aws4_request, ... Signature=000...0
// The signed headers are host, x-amz-date, x-amz-security-token (with a session token) and, in the
// JSON protocol, x-amz-target. The path is `/`, without a query; in REST-JSON that of the action.
//
// Limits: host, key, region and target have no control characters: they become header lines.
// Errors: none. Without a key the placeholders stay: emulators read the region from them.
// Owner:  one connection.
// Source: IAM User Guide, "AWS Signature Version 4 for API requests".
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "proto/text/digest.h"

namespace pawl::sqs_client {

struct Api {
  std::string_view name;     // begins each target
  std::string_view service;  // in the scope of signatures
  std::string_view version;  // of the Query protocol; empty: the API speaks JSON
  bool is_rest = false;      // REST-JSON: method and path name the action

  bool is_query() const { return !version.empty(); }
};
inline constexpr Api sqs_api{"AmazonSQS", "sqs", {}};
inline constexpr Api pawl_api{"Pawl", "sqs", {}};
inline constexpr Api sns_api{"SNS", "sns", "2010-03-31"};
inline constexpr Api scheduler_api{"Scheduler", "scheduler", {}, true};

// An action of an API of REST-JSON. The path has only letters, digits and "/-_."; the query is in
// the order of its names, as a QueryBody writes it.
struct RestAction {
  std::string_view name;  // "GetSchedule", for errors
  std::string_view method;
  std::string path, query = {};
};

// The head of a request, up to the digits of Content-Length.
struct PreparedHead {
  std::string bytes;
  std::string action;  // canonical: "POST\n/\n\n"
  std::string target;  // "AmazonSQS.SendMessage"; empty: other protocols have none
  std::size_t date_at = 0, scope_at = 0, signature_at = 0;
};

struct SigningKey {
  std::string id;  // empty: requests stay unsigned, without the session token
  std::string secret;
  std::string session_token;  // of a temporary key; otherwise empty
};

class RequestSigner {
 public:
  RequestSigner(std::string host, SigningKey key, std::string region, const Api& api = sqs_api);

  PreparedHead head(std::string_view action) const;
  PreparedHead head(const RestAction& action) const;
  // Appends a whole request, signed.
  void append(std::string& out, const PreparedHead& head, std::string_view body, std::time_t now);
  // Signs the request in `out` from `begin` to the end; its body begins at `body`.
  void sign(std::string& out, std::size_t begin, std::size_t body, const PreparedHead& head,
            std::time_t now);

 private:
  bool has_target() const { return !api_.is_query() && !api_.is_rest; }
  void append_common(PreparedHead& head) const;
  void set_time(std::time_t now);

  std::string host_;
  SigningKey key_;
  std::string region_;
  Api api_;
  std::string signed_headers_;
  std::time_t time_ = -1;
  std::string date_;   // "20260101T000000Z", of time_
  std::string scope_;  // "20260101/us-east-1/sqs/aws4_request"
  Sha256 day_key_{};   // derived from the secret for that day
  std::string canonical_, to_sign_;
};

}  // namespace pawl::sqs_client
