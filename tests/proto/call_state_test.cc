// SPDX-License-Identifier: Apache-2.0
#include "proto/call_state.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/auth/keys.h"

namespace pawl {
namespace {

constexpr std::string_view date = "Thu, 01 Jan 1970 00:00:00 GMT";

std::string response_of(HttpCallState& state) {
  std::string out;
  write_response(state, out, date);
  return out;
}

TEST(HttpCallState, WritesAPlainResponse) {
  HttpCallState state;
  state.plain_status = 404;
  state.plain_type = "text/plain";
  state.plain_body = "nothing here";
  EXPECT_EQ(status_of(state), 404);
  const std::string response = response_of(state);
  EXPECT_TRUE(response.starts_with("HTTP/1.1 404 ")) << response;
  EXPECT_TRUE(response.contains("Content-Length: 12\r\n")) << response;
  EXPECT_TRUE(response.contains(date)) << response;
  EXPECT_TRUE(response.ends_with("\r\n\r\nnothing here")) << response;
  state.head_only = true;
  EXPECT_TRUE(response_of(state).ends_with("\r\n\r\n")) << "a HEAD gets no body";
}

TEST(HttpCallState, ForgetsTheCallBefore) {
  HttpCallState state;
  state.api = HttpCallState::Api::sqs;
  state.preflight = state.verified = true;
  state.cors_origin = "https://page.example";
  state.auth_fault = AuthFault::mismatch;
  state.sqs.refusal.because(SqsFault::over_limit, "full");
  state.reset();
  EXPECT_EQ(state.api, HttpCallState::Api::plain);
  EXPECT_FALSE(state.preflight || state.verified);
  EXPECT_EQ(state.cors_origin, "");
  EXPECT_EQ(state.auth_fault, AuthFault::none);
  EXPECT_FALSE(state.sqs.refusal);
}

TEST(HttpCallState, BeginsAndEndsWithoutTracesOfItsLastUse) {
  HttpCallState state;
  for (int use = 0; use < 3; ++use) {
    for (int call = 0; call < 2; ++call) {
      state.begin();
      EXPECT_FALSE(state.verified || state.sqs.refusal) << use << " " << call;
      state.verified = true;
      state.sqs.refusal.because(SqsFault::over_limit, "full");
    }
    state.clear();
    EXPECT_FALSE(state.verified || state.sqs.refusal) << use;
    state.clear();
  }
}

TEST(HttpCallState, NeedsASignatureWhereThereAreKeys) {
  CallSettings settings;
  settings.account = "123456789012";
  HttpCallState state;
  state.sqs.config = &settings;
  HttpRequest http;
  http.method = "POST";
  http.path = http.target = "/";
  EXPECT_TRUE(know_caller(state, http));
  EXPECT_EQ(state.sqs.account, "123456789012");

  auto keys = std::make_shared<Keyring>();
  ASSERT_EQ(keys->add({"AKID", "a-secret-of-the-key", "210987654321"}), KeyFault::none);
  settings.keys = keys;
  state.reset();
  state.sqs.config = &settings;
  EXPECT_FALSE(know_caller(state, http));
  EXPECT_FALSE(state.verified);
  EXPECT_EQ(state.auth_fault, AuthFault::missing);
  EXPECT_EQ(state.sqs.refusal.fault, SqsFault::missing_token);
}

}  // namespace
}  // namespace pawl
