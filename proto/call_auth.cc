// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/keys.h"
#include "proto/auth/sigv4.h"
#include "proto/call_state.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

// True for requests that need no signature: the health check and OPTIONS.
bool is_open(const HttpRequest& http) {
  if (http.method == "OPTIONS") return true;
  return (http.method == "GET" || http.method == "HEAD") && http.query.empty() &&
         (http.path == "/" || http.path == "/health") &&
         http.header(HeaderName::x_amz_target) == nullptr;
}

SignatureVerifier& verifier() {
  thread_local SignatureVerifier made;
  return made;
}

}  // namespace

bool know_caller(HttpCallState& s, const HttpRequest& http) {
  const CallSettings& settings = *s.sqs.config;
  s.sqs.account = settings.account;
  if (settings.dev != nullptr) {
    if (const std::string_view id = named_key_id(http); is_account_id(id)) s.sqs.account = id;
  }
  if (settings.keys == nullptr || is_open(http)) return true;
  Identity identity;
  s.auth_fault = verifier().verify(http, *settings.keys, http.arrived, identity);
  s.verified = s.auth_fault == AuthFault::none;
  if (!s.verified) {
    refuse(s.sqs.refusal, s.auth_fault, verifier().time());
    return false;
  }
  // The keys may be replaced before the response.
  s.sqs.account = s.sqs.input.arena.copy(identity.account);
  return true;
}

bool check_head(HttpCallState& s, const HttpRequest& http) {
  const CallSettings& settings = *s.sqs.config;
  if (settings.keys == nullptr || is_open(http)) return true;
  s.auth_fault = verifier().verify_head(http, *settings.keys, http.arrived, s.verified);
  if (s.auth_fault == AuthFault::none) return true;
  refuse(s.sqs.refusal, s.auth_fault, verifier().time());
  return false;
}

}  // namespace pawl
