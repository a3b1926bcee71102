// SPDX-License-Identifier: Apache-2.0
#include "net/engine/change_lines.h"

#include <gtest/gtest.h>

#include <memory>

namespace pawl {
namespace {

Request change_of(QueueId row) {
  Request request{.op = Op::set_attributes, .queue = row};
  request.based_on = std::make_shared<QueueConfig>();
  return request;
}

TEST(ChangeLines, ConcernChangesThatNameTheConfigTheyWereMadeFrom) {
  EXPECT_TRUE(ChangeLines::concerns(change_of(QueueId{1})));
  EXPECT_FALSE(ChangeLines::concerns(Request{.op = Op::set_attributes}));
  Request other = change_of(QueueId{1});
  other.op = Op::delete_queue;
  EXPECT_FALSE(ChangeLines::concerns(other));
}

TEST(ChangeLines, LetOneChangeOfARowGoAtATimeInOrder) {
  ChangeLines lines;
  Request a = change_of(QueueId{1}), b = change_of(QueueId{1}), c = change_of(QueueId{1});
  Request other = change_of(QueueId{2});
  EXPECT_TRUE(lines.enter(a));
  EXPECT_FALSE(lines.enter(b));
  EXPECT_FALSE(lines.enter(c));
  EXPECT_TRUE(lines.enter(other)) << "another row";
  EXPECT_TRUE(lines.answered(a));
  EXPECT_EQ(lines.next(QueueId{1}), &b);
  EXPECT_EQ(lines.next(QueueId{1}), nullptr) << "it is under way";
  EXPECT_TRUE(lines.answered(b));
  EXPECT_EQ(lines.next(QueueId{1}), &c);
  EXPECT_TRUE(lines.answered(c));
  EXPECT_EQ(lines.next(QueueId{1}), nullptr);
  EXPECT_FALSE(lines.answered(c)) << "the line has ended";
  EXPECT_TRUE(lines.answered(other));
  EXPECT_EQ(lines.next(QueueId{2}), nullptr);
  EXPECT_TRUE(lines.empty());
}

TEST(ChangeLines, AChangeThatIsAskedForAgainKeepsItsPlace) {
  ChangeLines lines;
  Request a = change_of(QueueId{1}), b = change_of(QueueId{1});
  EXPECT_TRUE(lines.enter(a));
  EXPECT_FALSE(lines.enter(b));
  EXPECT_TRUE(lines.answered(a));
  EXPECT_TRUE(lines.enter(a)) << "computed again";
  EXPECT_EQ(lines.next(QueueId{1}), nullptr);
  EXPECT_TRUE(lines.answered(a));
  EXPECT_EQ(lines.next(QueueId{1}), &b);
}

}  // namespace
}  // namespace pawl
