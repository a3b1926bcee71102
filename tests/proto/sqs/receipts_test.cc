// SPDX-License-Identifier: Apache-2.0
// Messages by their ids, in DeleteMessage and ChangeMessageVisibility: x-id:, and what a suffix of
// a receipt handle asks for.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

using By = ReceiptEntry::By;

constexpr std::string_view handle = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
constexpr std::string_view here = "x-id:01234567-89ab-cdef-fedc-ba9876543210";
constexpr std::string_view gone = "x-id:00000000-0000-0000-0000-000000000001";

class SqsReceipts : public SqsTest {
 protected:
  void SetUp() override {
    make_queue("q");
    broker.gone_id = {0, 1};
  }
  static std::string entry(int id, std::string_view receipt) {
    return fmt::format(R"({{"Id":"{}","ReceiptHandle":"{}","VisibilityTimeout":5}})", id, receipt);
  }
  SqsResponse remove(std::string_view receipt) {
    return on_queue("DeleteMessage", fmt::format(R"("ReceiptHandle":"{}")", receipt));
  }
  SqsResponse change(std::string_view receipt, std::string_view timeout) {
    return on_queue(
        "ChangeMessageVisibility",
        fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":{})", receipt, timeout));
  }
  const ReceiptEntry& routed() { return call.routes().front().request->receipts[0]; }
};

TEST_F(SqsReceipts, ADeleteByIdSaysWhetherTheMessageWasThere) {
  EXPECT_EQ(remove(here).header("x-pawl-cancel"), "cancelled");
  EXPECT_EQ(routed().by, By::id);
  EXPECT_EQ(remove(fmt::format("{};x-even-in-flight", here)).header("x-pawl-cancel"), "cancelled");
  EXPECT_EQ(routed().by, By::id_even_in_flight);
  const SqsResponse none = remove(gone);
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.header("x-pawl-cancel"), "gone");
  EXPECT_EQ(none.header("x-pawl-durability"), "fsync");
  EXPECT_EQ(remove(handle).header("x-pawl-cancel"), "");
  EXPECT_EQ(change(here, "5").header("x-pawl-cancel"), "");
}

TEST_F(SqsReceipts, ABatchHasAnOutcomeForEachEntryInOrder) {
  const auto outcomes = [&](const std::vector<std::string_view>& receipts) {
    std::string entries;
    for (std::size_t i = 0; i < receipts.size(); ++i)
      entries += (i == 0 ? "" : ",") + entry(static_cast<int>(i), receipts[i]);
    return on_queue("DeleteMessageBatch", fmt::format(R"("Entries":[{}])", entries))
        .header("x-pawl-cancel");
  };
  broker.refuse_entries = {Errc::ok, Errc::ok, Errc::message_in_flight};
  EXPECT_EQ(outcomes({gone, "garbage", handle, here, here}), "gone,-,-,-,cancelled");
  broker.refuse_entries = {};
  EXPECT_EQ(outcomes({handle, handle}), "") << "as on AWS";
  EXPECT_EQ(outcomes({"x-id:1"}), "") << "the broker was not asked";
}

TEST_F(SqsReceipts, AMessageInFlightIsRefusedWithPawlsOwnError) {
  broker.refuse_entries = {Errc::message_in_flight};
  const std::string text = fmt::format(
      "The message {} is in flight, or on its way to another queue: a consumer may have "
      "begun "
      "with it. Try again later",
      here);
  constexpr std::string_view shape = "com.amazonaws.sqs#PawlMessageInFlight";
  constexpr std::string_view advice =
      ", or append ;x-even-in-flight to delete it when it comes back.";
  expect_error(remove(here), 400, shape, fmt::format("{}{}", text, advice));
  expect_error(change(here, "5"), 400, shape, text + ".");
  const std::string even = fmt::format("{};x-even-in-flight", here);
  EXPECT_TRUE(remove(even).body.contains("Try again later.\"")) << "it is moving";
  const std::string body =
      on_queue("DeleteMessageBatch", fmt::format(R"("Entries":[{}])", entry(1, here))).body;
  EXPECT_TRUE(body.contains(R"("Code":"PawlMessageInFlight")")) << body;
}

TEST_F(SqsReceipts, ANewDeliveryTimeIsWithinTheDelaysOfTheQueue) {
  EXPECT_EQ(change(here, "900").status, 200);
  EXPECT_EQ(routed().visibility, seconds(900));
  EXPECT_EQ(change(here, "0").status, 200);
  constexpr std::string_view invalid = "com.amazonaws.sqs#InvalidParameterValue";
  for (const std::string_view bad : {"901", "-1"}) {
    const SqsResponse refused = change(here, bad);
    EXPECT_EQ(refused.status, 400);
    EXPECT_TRUE(refused.body.contains(
        fmt::format("Value {} for parameter VisibilityTimeout is invalid. Reason: With x-id: it is "
                    "the delay until the next delivery, and must be between 0 and 900. The queue "
                    "attribute x-max-delay raises this limit.",
                    bad)))
        << refused.body << invalid;
  }
}

TEST_F(SqsReceipts, AReturnHasADelayOfItsOwnOrTheTimeoutOfTheCall) {
  EXPECT_EQ(change(fmt::format("{};x-return=uncounted", handle), "7").status, 200);
  EXPECT_TRUE(routed().uncounted);
  EXPECT_EQ(routed().visibility, seconds(7));
  EXPECT_EQ(change(fmt::format("{};x-return=uncounted,delay=250ms", handle), "7").status, 200);
  EXPECT_EQ(routed().visibility, milliseconds(250));
}

TEST_F(SqsReceipts, AWrongSuffixIsExplainedBehindTheErrorOfAws) {
  const std::string given = fmt::format("{};x-return=uncounted", here);
  const std::string text = fmt::format(
      "The input receipt handle \\\"{}\\\" is not a valid receipt handle. The suffix ;x-return= "
      "belongs to ChangeMessageVisibility, behind the receipt handle of a delivery.",
      given);
  expect_error(remove(given), 404, "com.amazonaws.sqs#ReceiptHandleIsInvalid", text);
  expect_error(change(given, "1"), 404, "com.amazonaws.sqs#ReceiptHandleIsInvalid", text);
}

TEST_F(SqsReceipts, ARefusedCreateQueueHasNoQueueToTellLimitsOf) {
  const SqsResponse again =
      json("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"7"}})");
  EXPECT_EQ(again.status, 400) << again.body;
}

}  // namespace
}  // namespace pawl
