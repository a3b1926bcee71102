// SPDX-License-Identifier: Apache-2.0
#include "proto/errors/errors.h"

#include <gtest/gtest.h>

#include <set>

#include "proto/errors/sqs_errors.h"

namespace pawl {
namespace {

constexpr ErrcSubjects subjects{.queue = "q1",
                                .attribute = "a1",
                                .receipt = "r1",
                                .visibility = "v1",
                                .attempt = "t1",
                                .message_size_max = 77};

TEST(Status, IsAnotherOneForEachErrcAndHasAName) {
  std::set<Status> seen;
  for (int code = 0; code <= static_cast<int>(errc_count) - 1; ++code) {
    const Status status = status_of(static_cast<Errc>(code));
    EXPECT_TRUE(seen.insert(status).second) << name_of(status);
    EXPECT_NE(name_of(status), "unknown") << code;
  }
  EXPECT_EQ(name_of(static_cast<Status>(999)), "unknown");
}

TEST(Status, SaysHowLongToWaitExactlyWhenWaitingHelps) {
  for (int number = 0; number < 4000; ++number) {
    const auto status = static_cast<Status>(number);
    if (name_of(status) == "unknown") continue;
    EXPECT_EQ(retry_after_ms(status) > 0, number / 1000 == 2) << name_of(status);
  }
}

// refuse() would throw if a text contained an unknown name.
TEST(SqsErrors, EachErrcHasAFaultAndAText) {
  for (std::size_t i = 1; i < errc_count; ++i) {
    const auto code = static_cast<Errc>(i);
    Refusal refusal;
    refuse(refusal, code, subjects);
    EXPECT_TRUE(refusal) << name_of(code);
    EXPECT_FALSE(refusal.text.empty()) << name_of(code);
    EXPECT_EQ(refusal.text.find_first_of("{}"), std::string::npos) << refusal.text;
    EXPECT_EQ(refusal.retry_ms, row_of(code).sqs_retry_ms) << name_of(code);
    EXPECT_EQ(refusal.fault == SqsFault::request_throttled, refusal.retry_ms > 0) << name_of(code);
  }
}

TEST(SqsErrors, TextsNameWhatTheySpeakOf) {
  const auto text = [](Errc code) {
    Refusal refusal;
    refuse(refusal, code, subjects);
    return refusal.text;
  };
  EXPECT_EQ(text(Errc::queue_exists),
            "A queue already exists with the same name and a different value for attribute a1");
  EXPECT_EQ(text(Errc::receipt_invalid),
            "The input receipt handle \"r1\" is not a valid receipt handle.");
  EXPECT_TRUE(text(Errc::visibility_beyond_max)
                  .starts_with("Value v1 for parameter VisibilityTimeout is invalid."));
  EXPECT_TRUE(text(Errc::attempt_not_retryable)
                  .starts_with("Value t1 for parameter ReceiveRequestAttemptId is invalid."));
  EXPECT_EQ(text(Errc::too_large),
            "One or more parameters are invalid. Reason: Message must be shorter than 77 bytes.");
  EXPECT_EQ(text(Errc::unauthorized), "Access to the resource q1 is denied.");
}

}  // namespace
}  // namespace pawl
