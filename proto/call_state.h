// SPDX-License-Identifier: Apache-2.0
// HttpCallState: the state of one HTTP call that belongs to no API, and the states of the APIs.
//
// Owner:  the HttpCall. Memory is reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proto/dev/dev_call.h"
#include "proto/errors/errors.h"
#include "proto/http/parser.h"
#include "proto/pawl/call.h"
#include "proto/scheduler/call.h"
#include "proto/sns/call.h"
#include "proto/sqs/state.h"

namespace pawl {

struct HttpCallState {
  enum class Api : std::uint8_t {
    plain,  // of no API: a health check, an OPTIONS, an unknown path
    sqs,
    pawl,       // in JSON; `pawl` has the whole state, but for a refusal
    sns,        // in Query; `sns` has the whole state
    dev,        // a path of development servers; `dev` has the whole state
    scheduler,  // a path of EventBridge Scheduler; `scheduler` has the state, but for a refusal
  };

  Api api = Api::plain;
  bool keep_alive = true;
  bool head_only = false;
  int version_minor = 1;
  std::string_view cors_origin;  // HttpRequest::cors_origin
  bool preflight = false;        // OPTIONS

  // The result of the signature check.
  AuthFault auth_fault{};
  bool verified = false;

  // The response of `plain`: a short text or an empty body.
  std::uint16_t plain_status = 200;
  std::string_view plain_type, plain_body;

  // Its request id, account and settings are those of every API; a call that is refused before its
  // API is known is refused in SQS's form.
  SqsState sqs;
  std::unique_ptr<SnsCall> sns;    // null until the first call of SNS
  std::unique_ptr<PawlCall> pawl;  // null until the first call of pawl's API
  std::unique_ptr<DevCall> dev;    // null until the first call of a development server's path
  std::unique_ptr<SchedulerCall> scheduler;  // null until the first call of the scheduler's API

  bool cleared = false;  // nothing has changed since clear()

  void reset();
  void begin();  // resets the state, unless clear() has
  void clear();  // also drops the states of the other APIs
};

// call_auth.cc

// Sets the account of the call. If a required signature is missing or wrong, refuses the call and
// returns false.
//
//   no keys configured -> every caller is the server's own account
//   keys               -> the caller is the account of the signing key
[[nodiscard]] bool know_caller(HttpCallState& s, const HttpRequest& http);

// Checks the signature by the head alone. If no body could match it, refuses the call and returns
// false. s.verified becomes true if it is right for the body whose digest the head has.
[[nodiscard]] bool check_head(HttpCallState& s, const HttpRequest& http);

// call_response.cc
std::uint16_t status_of(const HttpCallState& s);
// A constant: the error's code without a namespace; empty without an error.
std::string_view error_code_of(const HttpCallState& s);
// Appends the whole HTTP response.
void write_response(HttpCallState& s, std::string& out, std::string_view date);

}  // namespace pawl
