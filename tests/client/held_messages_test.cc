// SPDX-License-Identifier: Apache-2.0
#include "net/client/held_messages.h"

#include <gtest/gtest.h>

namespace pawl::client {
namespace {

Client::MessageView message(std::uint8_t number) {
  Client::MessageView made;
  made.id.fill(number);
  made.receipt.fill(number);
  return made;
}

TEST(HeldMessages, FindsAMessageByItsTokenAndItsId) {
  HeldMessages held(2);
  EXPECT_EQ(held.free_count(), 2u);
  const auto first = held.take(message(1)), second = held.take(message(2));
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(held.find(held.token(first)), first);
  EXPECT_EQ(held.find(message(2).id), second);
  EXPECT_EQ(held[second].receipt, message(2).receipt);
  EXPECT_EQ(held.find(message(3).id), HeldMessages::none);
  EXPECT_EQ(held.find(Consumer::Token{.slot = 9, .use = 1}), HeldMessages::none);
}

TEST(HeldMessages, IgnoresTokensOfEarlierUsesAndOfDecidedMessages) {
  HeldMessages held(1);
  const auto first = held.take(message(1));
  const Consumer::Token token = held.token(first);
  held[first].state = Held::State::deleting;
  EXPECT_EQ(held.find(token), HeldMessages::none) << "it has a verdict";
  EXPECT_EQ(held.find(message(1).id), first);
  held.free(first);
  EXPECT_EQ(held.find(message(1).id), HeldMessages::none);
  EXPECT_EQ(held.take(message(2)), first);
  EXPECT_EQ(held.find(token), HeldMessages::none) << "the slot has another message";
  EXPECT_EQ(held.find(held.token(first)), first);
}

TEST(HeldMessages, VisitsTheMessagesOfAState) {
  HeldMessages held(3);
  held.take(message(1));
  held[held.take(message(2))].state = Held::State::releasing;
  int visits = 0;
  held.for_each(Held::State::under_way, [&](auto, const Held& one) {
    ++visits;
    EXPECT_EQ(one.id, message(1).id);
  });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace pawl::client
