// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/peeked_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/base/time_shift.h"
#include "core/queue/receipt.h"
#include "proto/text/uuid.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

TEST(PeekedWriter, AddsStateAndTimeToAMessage) {
  TimeShift shift;
  shift.set_us(7'000);
  CallSettings settings;
  settings.shift = &shift;
  QueueConfig queue;
  queue.id = QueueId{3};
  Delivery delivery;
  delivery.seq = 5;
  delivery.content.body = "b";
  std::string out, scratch;
  PeekedWriter(queue, settings, SqsForm::json, out, scratch)
      .write({.seq = 5, .state = State::delayed, .until = Instant{1000}, .behind = 4}, &delivery);
  EXPECT_TRUE(out.contains(R"("Body":"b")")) << out;
  EXPECT_TRUE(out.ends_with(R"("Number":5,"State":"delayed","VisibleAt":1007,"Behind":4})")) << out;

  out.clear();
  delivery.moved = Instant{2000};
  delivery.moved_receives = 3;
  PeekedWriter(queue, settings, SqsForm::json, out, scratch)
      .write({.seq = 5, .state = State::visible}, &delivery);
  EXPECT_TRUE(out.contains(R"("State":"visible","MovedAt":2007,"ReceivesBeforeMove":3,)")) << out;
  const auto place = uuid_text(message_id(settings.secret, QueueId{3}, 5));
  EXPECT_TRUE(out.ends_with(R"("PlaceId":")" + std::string(place.data(), place.size()) + "\"}"))
      << out;

  out.clear();
  PeekedWriter(queue, settings, SqsForm::json, out, scratch)
      .write({.seq = 5, .state = State::in_flight, .cancelled = true}, &delivery);
  EXPECT_TRUE(out.ends_with(R"(,"Cancelled":true})")) << out;

  out.clear();
  PeekedWriter(queue, settings, SqsForm::json, out, scratch)
      .write({.seq = 6, .state = State::visible}, nullptr);
  EXPECT_EQ(out, R"({"Number":6,"State":"unreadable"})");
  out.clear();
  PeekedWriter(queue, settings, SqsForm::json, out, scratch)
      .write({.seq = 6, .state = State::not_durable}, nullptr);
  EXPECT_EQ(out, R"({"Number":6,"State":"not_durable"})");

  out.clear();
  const std::array<MessageWriter::Pair, 1> more = {{{"IsVisible", "true"}}};
  PeekedWriter(queue, settings, SqsForm::xml, out, scratch).write(delivery, more);
  EXPECT_TRUE(out.starts_with("<Message>") && out.ends_with("</Message>")) << out;
  EXPECT_TRUE(out.contains("<Name>IsVisible</Name><Value>true</Value>")) << out;
  EXPECT_FALSE(out.contains("Number")) << out;
}

}  // namespace
}  // namespace pawl
