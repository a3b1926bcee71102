// SPDX-License-Identifier: Apache-2.0
// The table of actions: each row belongs to the action of its place.
#include "proto/sqs/actions.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

TEST(SqsActions, EachHaveAFirstHalfOfTheirOwn) {
  std::set<decltype(SqsHandler::begin)> halves;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(SqsAction::list_message_move_tasks); ++i) {
    const SqsHandler& one = handler(static_cast<SqsAction>(i));
    EXPECT_NE(one.begin, nullptr) << i;
    EXPECT_TRUE(halves.insert(one.begin).second) << i;
  }
  EXPECT_EQ(handler(SqsAction::create_queue).begin, &sqs::create_queue);
  EXPECT_EQ(handler(SqsAction::receive_message).begin, &sqs::receive_message);
  EXPECT_EQ(handler(SqsAction::list_message_move_tasks).begin, &sqs::list_message_move_tasks);
}

// SQS API Reference: these actions have no response elements.
TEST(SqsActions, HaveAResultExceptThoseThatOnlyChangeSomething) {
  const std::set<SqsAction> without = {
      SqsAction::delete_queue,     SqsAction::purge_queue,
      SqsAction::delete_message,   SqsAction::set_queue_attributes,
      SqsAction::tag_queue,        SqsAction::change_message_visibility,
      SqsAction::untag_queue,      SqsAction::add_permission,
      SqsAction::remove_permission};
  for (std::size_t i = 1; i <= static_cast<std::size_t>(SqsAction::list_message_move_tasks); ++i) {
    const auto action = static_cast<SqsAction>(i);
    EXPECT_EQ(handler(action).result == nullptr, without.contains(action)) << info(action).name;
  }
}

// The change of a single tag or permission replaces the whole set, so it may have to be repeated.
TEST(SqsActions, RecomputeTheChangesOfTagsAndPermissions) {
  const std::set<SqsAction> recomputed = {SqsAction::tag_queue, SqsAction::untag_queue,
                                          SqsAction::add_permission, SqsAction::remove_permission};
  for (std::size_t i = 1; i <= static_cast<std::size_t>(SqsAction::list_message_move_tasks); ++i) {
    const auto action = static_cast<SqsAction>(i);
    EXPECT_EQ(handler(action).change != nullptr, recomputed.contains(action)) << info(action).name;
  }
}

}  // namespace
}  // namespace pawl
