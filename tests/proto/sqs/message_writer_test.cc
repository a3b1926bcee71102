// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/message_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/base/time_shift.h"

namespace pawl {
namespace {

class MessageWriterTest : public ::testing::Test {
 protected:
  MessageWriterTest() {
    shift_.set_us(7'000);
    settings_.shift = &shift_;
    delivery_.seq = 5;
    delivery_.sent = Instant{1000};
    delivery_.content.body = "b";
    delivery_.content.group = "g";
    delivery_.id = {1, 2};
  }

  std::string written(SqsForm form, bool peeked, std::uint32_t names = all_system_names) {
    std::string out, scratch;
    SqsResult result(out, form);
    MessageWriter writer({.settings = settings_,
                          .queue = QueueId{3},
                          .account = "000000000000",
                          .fifo = true,
                          .system_names = names,
                          .attributes = filter_},
                         result, scratch);
    if (!peeked) {
      writer.write(delivery_, {});
      return out;
    }
    const std::array<MessageWriter::Pair, 1> more = {{{"IsVisible", "true"}}};
    writer.begin_peeked(delivery_, {}, more);
    result.number("Number", 5);
    writer.end();
    return out;
  }

  TimeShift shift_;
  CallSettings settings_;
  AttributeFilter filter_;
  Delivery delivery_;
};

TEST_F(MessageWriterTest, WritesAReceivedMessageWithItsHandle) {
  delivery_.receive_count = 1;
  delivery_.first_received = Instant{2000};
  const std::string json = written(SqsForm::json, false);
  EXPECT_TRUE(json.contains(R"("ReceiptHandle":"AAAA)")) << json;
  EXPECT_TRUE(json.contains(R"("SentTimestamp":"1007")")) << json;
  EXPECT_TRUE(json.contains(R"("ApproximateFirstReceiveTimestamp":"2007")")) << json;
  EXPECT_TRUE(json.contains(R"("SequenceNumber":"00000000000000000005")")) << json;
}

TEST_F(MessageWriterTest, WritesAPeekedMessageWithoutAHandleAndWithFurtherMembers) {
  const std::string json = written(SqsForm::json, true);
  EXPECT_FALSE(json.contains("ReceiptHandle")) << json;
  EXPECT_TRUE(json.contains(R"("ApproximateReceiveCount":"0")")) << json;
  EXPECT_TRUE(json.contains(R"("ApproximateFirstReceiveTimestamp":"0")")) << json;
  EXPECT_TRUE(json.ends_with(R"("IsVisible":"true"},"Number":5})")) << json;
  const std::string tree = written(SqsForm::tree, true);
  EXPECT_TRUE(tree.contains(R"({"Name":"IsVisible","Value":"true"}],"Number":5})")) << tree;
  const std::string xml = written(SqsForm::xml, true);
  EXPECT_TRUE(xml.ends_with("<Number>5</Number></Message>")) << xml;
}

TEST_F(MessageWriterTest, WritesTheTimesThatAreKnown) {
  EXPECT_EQ(all_system_names & system_name_bit(times_name), 0u);
  const auto times = [this] { return written(SqsForm::json, false, system_name_bit(times_name)); };
  EXPECT_TRUE(times().ends_with(R"("Attributes":{"x-times":"{\"accepted\":1007}"}})")) << times();
  delivery_.durable = Instant{1001};
  delivery_.moved = Instant{1500};
  delivery_.received = Instant{2000};
  EXPECT_TRUE(times().ends_with(
      R"("x-times":"{\"accepted\":1007,\"durable\":1008,\"moved\":1507,\"delivered\":2007}"}})"))
      << times();
}

TEST_F(MessageWriterTest, WritesTheNamedAttributesAlone) {
  EXPECT_EQ(system_name_bit("MessageGroupId"), 1u << 5);
  EXPECT_EQ(system_name_bit("messagegroupid"), 0u);
  const std::string json = written(SqsForm::json, false, system_name_bit("MessageGroupId"));
  EXPECT_TRUE(json.ends_with(R"("Attributes":{"MessageGroupId":"g"}})")) << json;
  EXPECT_FALSE(written(SqsForm::json, false, 0).contains("Attributes"));
  std::string system;
  append_attribute(system, {"x-not-before", "String", AttributeKind::text, "7"});
  delivery_.content.system = system;
  const std::string own = written(SqsForm::json, false, system_name_bit("x-not-before"));
  EXPECT_TRUE(own.ends_with(R"("Attributes":{"x-not-before":"7"}})")) << own;
  EXPECT_FALSE(written(SqsForm::json, false).contains("x-not-before")) << "All is what SQS has";
  system.clear();
  append_attribute(system, {"x-ttl", "String", AttributeKind::text, "1500ms"});
  delivery_.content.system = system;
  const std::string lives = written(SqsForm::json, false, system_name_bit("x-ttl"));
  EXPECT_TRUE(lives.ends_with(R"("Attributes":{"x-ttl":"1500ms"}})")) << lives;
  EXPECT_FALSE(written(SqsForm::json, false).contains("x-ttl"));
}

TEST_F(MessageWriterTest, WritesWhyADeadLetterCame) {
  const auto reason = system_name_bit("x-dead-letter-reason");
  EXPECT_FALSE(written(SqsForm::json, false, reason).contains("Attributes")) << "it did not expire";
  delivery_.content.reason = DeadLetterReason::expired;
  EXPECT_TRUE(written(SqsForm::json, false, reason)
                  .ends_with(R"("Attributes":{"x-dead-letter-reason":"expired"}})"));
  EXPECT_TRUE(written(SqsForm::tree, false)
                  .contains(R"({"Name":"x-dead-letter-reason","Value":"expired"})"))
      << "part of All";
}

}  // namespace
}  // namespace pawl
