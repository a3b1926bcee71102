// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/greeting.h"

#include <gtest/gtest.h>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

TEST_F(BinarySessionTest, HelloTellsVersionFeaturesLimitsAndShards) {
  ASSERT_EQ(begin(BinaryOp::hello, hello()), Next::respond);
  EXPECT_TRUE(session_.greeted());
  EXPECT_EQ(session_.client(), "tester");
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  EXPECT_EQ(got.header.flags, flag_answer);
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint16_t>(), binary_major);
  EXPECT_EQ(in.take<std::uint16_t>(), binary_minor);
  EXPECT_EQ(in.take<std::uint32_t>(), feature_checksum) << "of the bits offered, those known";
  EXPECT_EQ(in.take<std::uint32_t>(), frame_bytes_max);
  EXPECT_EQ(in.take<std::uint32_t>(), 1024u);
  EXPECT_EQ(in.take<std::uint32_t>(), 8u << 20);
  EXPECT_EQ(in.take<std::uint32_t>(), entries_max);
  EXPECT_EQ(in.take<std::uint64_t>(), 0xB007u);
  EXPECT_EQ(in.take<std::uint32_t>(), 3u);
  EXPECT_EQ(in.take<std::uint32_t>(), 4u);
  ASSERT_EQ(in.take<std::uint16_t>(), 4);
  EXPECT_EQ(in.take<std::uint16_t>(), 9001);
  EXPECT_EQ(in.take_bytes(6).size(), 6u);
  EXPECT_EQ(in.take_short(), "") << "no key is asked for";
  EXPECT_TRUE(in.finished());
}

TEST_F(BinarySessionTest, HelloOfALaterMinorMaySayMore) {
  EXPECT_EQ(begin(BinaryOp::hello, hello() + "and more"), Next::respond);
  EXPECT_EQ(answer().status(), Status::ok);
}

TEST_F(BinarySessionTest, IsClosedWhenTheGreetingIsWrong) {
  std::string other_magic = hello();
  other_magic[0] = 'X';
  struct Case {
    const char* name;
    BinaryOp op;
    std::string payload;
    Status status;
  };
  const Case cases[] = {
      {"another protocol", BinaryOp::hello, other_magic, Status::protocol_version},
      {"another major", BinaryOp::hello, hello(2), Status::protocol_version},
      {"only magic and major", BinaryOp::hello, hello().substr(0, 6), Status::bad_frame},
      {"a method we know not", BinaryOp::hello, hello(binary_major, 2), Status::unauthorized},
      {"no greeting at all", BinaryOp::ping, "", Status::out_of_order},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(begin(c.op, c.payload), Next::close);
    EXPECT_EQ(answer().status(), c.status);
    EXPECT_FALSE(session_.greeted());
  }
}

TEST_F(BinarySessionTest, IsClosedByASecondHello) {
  greet_and_open();
  EXPECT_EQ(begin(BinaryOp::hello, hello()), Next::close);
  EXPECT_EQ(answer().status(), Status::out_of_order);
}

}  // namespace
}  // namespace pawl
