// SPDX-License-Identifier: Apache-2.0
#include "proto/errors/sqs_errors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace pawl {
namespace {

constexpr ErrcSubjects subjects{.queue = "q1",
                                .attribute = "a1",
                                .receipt = "r1",
                                .visibility = "v1",
                                .attempt = "t1",
                                .message_size_max = 77};

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

TEST(SqsErrors, HaveNamesOfTheirOwnInBothProtocolsAndAStatus) {
  std::set<std::string_view> shapes, codes;
  for (int i = 1; i <= static_cast<int>(SqsFault::internal_failure); ++i) {
    const SqsFaultInfo& fault = info(static_cast<SqsFault>(i));
    EXPECT_TRUE(shapes.insert(fault.shape).second) << fault.shape;
    EXPECT_TRUE(codes.insert(fault.code).second) << fault.code;
    EXPECT_TRUE(fault.shape.starts_with("com.amazon") && fault.shape.contains('#')) << fault.shape;
    EXPECT_FALSE(fault.code.contains(' ')) << fault.code;
    EXPECT_EQ(fault.status / 100, fault.sender ? 4 : 5) << fault.code;
  }
}

TEST(SqsErrors, EachFaultOfASignatureHasATextThatHidesWhichKeysExist) {
  for (int i = 1; i < static_cast<int>(auth_faults); ++i) {
    Refusal refusal;
    refuse(refusal, static_cast<AuthFault>(i));
    EXPECT_TRUE(refusal) << i;
    EXPECT_TRUE(refusal.text.ends_with('.')) << refusal.text;
    EXPECT_FALSE(refusal.text.contains("exist")) << refusal.text;
    EXPECT_EQ(refusal.retry_ms, 0u) << i;
  }
}

TEST(Refusal, IsNoneUntilThereIsAReason) {
  Refusal refusal;
  EXPECT_FALSE(refusal);
  EXPECT_FALSE(refusal.because(SqsFault::missing_parameter, "no {}", "body"));
  EXPECT_TRUE(refusal);
  EXPECT_EQ(refusal.text, "no body");
  refusal.retry_ms = 5;
  refusal.clear();
  EXPECT_FALSE(refusal);
  EXPECT_EQ(refusal.text, "");
  EXPECT_EQ(refusal.retry_ms, 0u);
}

TEST(Shown, CutsATextAtWholeCharacters) {
  const std::string limit(1024, 'x');
  EXPECT_EQ(shown(limit), limit);
  EXPECT_EQ(shown(limit + "y"), limit);
  const std::string before(1022, 'x');
  EXPECT_EQ(shown(before + "\xe2\x82\xac" + "y"), before) << "three bytes, of which two would fit";
  EXPECT_EQ(shown(before + "\xc3\xa9" + "y"), before + "\xc3\xa9");
  EXPECT_EQ(shown(""), "");
}

TEST(SqsFault, HasARowForEachValueAlone) {
  EXPECT_DEATH(static_cast<void>(info(static_cast<SqsFault>(0xFF))), "SqsFault 255");
}

}  // namespace
}  // namespace pawl
