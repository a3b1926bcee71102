// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/notification.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/queue/receipt.h"
#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

constexpr MessageId id{0x0123456789abcdef, 0xfedcba9876543210};
constexpr std::string_view uuid = "01234567-89ab-cdef-fedc-ba9876543210";

class NotificationTest : public testing::Test {
 protected:
  std::string notification_ = make_notification(R"({"Message":)", R"(,"Url":"x:)");
  Content content_{.body = "say \"hi\"\n", .notification = notification_, .subscription = id};
};

TEST_F(NotificationTest, IsAnEnvelopeAroundTheBody) {
  std::string out = "before ";
  append_envelope(out, content_);
  EXPECT_EQ(out,
            "before "
            R"({"Message":"say \"hi\"\n","Url":"x:)" +
                std::string(uuid) + R"("})");
}

TEST_F(NotificationTest, HasTheAttributesInIt) {
  std::string attributes;
  append_attribute(attributes, {.name = "n", .type = "Number", .value = "7"});
  append_attribute(
      attributes,
      {.name = "z", .type = "Binary", .kind = AttributeKind::bytes, .value = "\x01\x02"});
  content_.attributes = attributes;
  std::string out;
  append_envelope(out, content_);
  EXPECT_TRUE(out.ends_with(
      R"(","MessageAttributes":{"n":{"Type":"Number","Value":"7"},"z":{"Type":"Binary","Value":"AQI="}}})"))
      << out;
}

TEST_F(NotificationTest, ReplacesTheContentsThatHaveASubscription) {
  const std::array<std::uint8_t, 16> md5{};
  content_.body_md5 = &md5;
  content_.attributes = "";
  std::array<Delivery, 3> deliveries;
  deliveries[0].content = deliveries[2].content = content_;
  deliveries[1].content = {.body = "raw", .attributes = "kept", .body_md5 = &md5};
  deliveries[2].content.body = std::string_view("other");
  std::string memory;
  put_in_envelopes(deliveries, memory);
  EXPECT_TRUE(deliveries[0].content.body.contains("say"));
  EXPECT_TRUE(deliveries[2].content.body.contains("other"));
  for (const std::size_t i : {0u, 2u}) {
    EXPECT_EQ(deliveries[i].content.subscription, MessageId{});
    EXPECT_EQ(deliveries[i].content.body_md5, nullptr) << "that of the body alone";
  }
  EXPECT_EQ(deliveries[1].content.body, "raw");
  EXPECT_EQ(deliveries[1].content.attributes, "kept");
  EXPECT_EQ(deliveries[1].content.body_md5, &md5);
}

TEST_F(NotificationTest, LeavesOtherMessagesWithoutMemory) {
  std::array<Delivery, 2> deliveries;
  std::string memory;
  put_in_envelopes(deliveries, memory);
  EXPECT_TRUE(memory.empty());
}

TEST(SubscriptionOf, TakesUuidsAsTheyAreWritten) {
  EXPECT_EQ(subscription_of(uuid), id);
  const std::array<char, 36> text = uuid_text(id);
  EXPECT_EQ(std::string_view(text.data(), text.size()), uuid);
  for (const std::string_view other :
       {"", "1", "01234567-89AB-cdef-fedc-ba9876543210", "0123456789abcdef-fedc-ba98-76543210",
        "01234567-89ab-cdef-fedc-ba98765432100", "01234567-89ab-cdef-fedc-ba987654321",
        "01234567-89ab-cdef-fedc-ba987654321g", "00000000-0000-0000-0000-000000000000"})
    EXPECT_FALSE(subscription_of(other)) << other;
}

}  // namespace
}  // namespace pawl
