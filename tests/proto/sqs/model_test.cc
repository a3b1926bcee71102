// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/model.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace pawl {
namespace {

constexpr auto last_action = static_cast<std::size_t>(SqsAction::list_message_move_tasks);
constexpr auto last_member = static_cast<std::size_t>(SqsMember::entries);

TEST(SqsModel, NamesEachActionOnceAndFindsItByItsName) {
  std::set<std::string_view> names;
  for (std::size_t i = 1; i <= last_action; ++i) {
    const auto action = static_cast<SqsAction>(i);
    EXPECT_FALSE(info(action).name.empty()) << i;
    EXPECT_TRUE(names.insert(info(action).name).second) << info(action).name;
    EXPECT_EQ(action_named(info(action).name), action);
  }
  for (const char* name : {"", "sendmessage", "SendMessage ", "Publish", "SendMessageBatchX"})
    EXPECT_EQ(action_named(name), SqsAction::none) << name;
}

TEST(SqsModel, NamesEachMemberOfAnActionOnceInBothProtocols) {
  for (std::size_t i = 1; i <= last_action; ++i) {
    const SqsActionInfo& action = info(static_cast<SqsAction>(i));
    for (const SqsMemberSet set : {action.members, action.entry_members}) {
      std::set<std::string_view> json, query;
      for (std::size_t m = 0; m <= last_member; ++m) {
        const auto member = static_cast<SqsMember>(m);
        if ((set & bit(member)) == 0) continue;
        EXPECT_TRUE(json.insert(info(member).json).second)
            << action.name << " " << info(member).json;
        EXPECT_TRUE(query.insert(info(member).query).second) << action.name;
        EXPECT_EQ(info(member).query.empty(), member == SqsMember::entries)
            << "the name of entries depends on the action";
      }
      EXPECT_EQ(set >> (last_member + 1), 0u) << action.name;
    }
  }
}

// The readers put a scalar of an entry and one of a call into different places.
TEST(SqsModel, HasScalarsOfAnEntryBeforeThoseOfACallAndListsAfterBoth) {
  for (std::size_t m = 0; m <= last_member; ++m) {
    const SqsMemberKind kind = info(static_cast<SqsMember>(m)).kind;
    const bool scalar = kind == SqsMemberKind::text || kind == SqsMemberKind::integer;
    EXPECT_EQ(scalar, m < sqs_entry_scalars + sqs_call_scalars) << m;
  }
  for (std::size_t i = 1; i <= last_action; ++i) {
    const SqsActionInfo& action = info(static_cast<SqsAction>(i));
    for (std::size_t m = sqs_entry_scalars; m <= last_member; ++m) {
      const auto member = static_cast<SqsMember>(m);
      const bool in_entry = (action.entry_members & bit(member)) != 0;
      if (in_entry) {
        EXPECT_EQ(info(member).kind, SqsMemberKind::attributes) << action.name;
      }
    }
  }
}

TEST(SqsModel, HasEntriesExactlyInBatches) {
  for (std::size_t i = 1; i <= last_action; ++i) {
    const SqsActionInfo& action = info(static_cast<SqsAction>(i));
    const bool batch = action.name.ends_with("Batch");
    EXPECT_EQ(action.entry_members != 0, batch) << action.name;
    EXPECT_EQ((action.members & bit(SqsMember::entries)) != 0, batch) << action.name;
    EXPECT_EQ((action.entry_members & bit(SqsMember::id)) != 0, batch) << action.name;
    EXPECT_EQ((action.members & bit(SqsMember::queue_url)) != 0, action.on_queue) << action.name;
  }
}

}  // namespace
}  // namespace pawl
