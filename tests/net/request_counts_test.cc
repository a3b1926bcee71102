// SPDX-License-Identifier: Apache-2.0
#include "net/connection/request_counts.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(RequestCounts, AreKeptByProtocolOperationAndError) {
  RequestCounts counts;
  counts.note_http("json", "SendMessage", "", 100);
  counts.note_http("json", "SendMessage", "QueueDoesNotExist", 100);
  counts.note_http("query", "SendMessage", "", 1000);
  counts.note_http("json", "", "InvalidAction", 1);
  ASSERT_EQ(counts.http.size(), 3u);
  EXPECT_EQ(counts.http[0].times.count(), 2u);
  EXPECT_EQ(counts.http[2].op, "unknown");
  EXPECT_EQ(counts.failed("json", "SendMessage"), 1u);
  EXPECT_EQ(counts.failed("query", "SendMessage"), 0u);
  EXPECT_EQ(counts.failed("json", "unknown"), 1u);
}

TEST(RequestCounts, NameTheBinaryOperations) {
  EXPECT_EQ(RequestCounts::name_of(BinaryOp::call), "call");
  EXPECT_EQ(RequestCounts::name_of(BinaryOp::hello), "hello");
  EXPECT_EQ(RequestCounts::name_of(static_cast<BinaryOp>(0)), "unknown");
  EXPECT_EQ(RequestCounts::name_of(static_cast<BinaryOp>(14)), "unknown") << "a gap";
  EXPECT_EQ(RequestCounts::name_of(static_cast<BinaryOp>(255)), "unknown");
}

TEST(RequestCounts, OfShardsAreAdded) {
  const std::string other_text = "SendMessage";  // of another address
  RequestCounts one, other;
  one.note_http("json", "SendMessage", "", 1);
  other.note_http("json", other_text, "", 1);
  other.note_http("json", "DeleteMessage", "AccessDenied", 1);
  other.binary[16].note(70);
  other.note_binary_error(BinaryOp::send, "no_space");
  PublishedRequestCounts published;
  published.publish(other);
  published.add_to(one);
  published.add_to(one);
  ASSERT_EQ(one.http.size(), 2u);
  EXPECT_EQ(one.http[0].times.count(), 3u);
  EXPECT_EQ(one.binary[16].buckets[1], 2u);
  EXPECT_EQ(one.failed("binary", "send"), 2u);
  EXPECT_EQ(one.failed("json", "DeleteMessage"), 2u);
}

}  // namespace
}  // namespace pawl
