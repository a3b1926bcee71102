// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/subscribe.h"

#include "core/base/check.h"
#include "proto/binary/messages.h"
#include "proto/binary/payloads.h"

namespace pawl::binary {
namespace {

// A subscription receives anew when a wait ends without a message.
constexpr Duration subscription_wait = seconds(3600);

// Whether received messages are hidden with this visibility timeout.
bool hides(Duration visibility, const QueueConfig& queue) {
  return (visibility == queue_default ? queue.visibility() : visibility) > Duration{0};
}

}  // namespace

BinaryNext subscribe(BinaryCallState& s, const BinaryArguments& call) {
  const auto [credit, visibility_ms, bytes_max] = take_struct<payload::Subscribe>(call.in);
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  // Without a visibility timeout the same message would be sent until the credit is used up.
  const bool fits = credit >= 1 && credit <= subscription_credit_max &&
                    in_range(visibility_ms, visibility_ms_max(*call.opened)) &&
                    hides(duration(visibility_ms), *call.opened);
  Subscriptions& all = call.session.subscriptions;
  if (!fits || all.find(s.header.correlation) != nullptr) return s.refuse(Status::invalid);
  s.subscription = all.add({.request = s.header,
                            .visibility = duration(visibility_ms),
                            .bytes_max = bytes_max,
                            .credit = credit});
  if (s.subscription == nullptr) return s.refuse(Status::overloaded);
  return push(s, call.session, call.directory, call.config);
}

BinaryNext subscribe_result(BinaryCallState& s, BinarySessionState& session,
                            const Directory& directory) {
  CHECK(s.subscription != nullptr, "a receive for no subscription");
  if (s.request.delivered > 0) return receive_result(s, session, directory);
  s.renew();
  return push(s, session, directory, *s.config);
}

BinaryNext push(BinaryCallState& s, BinarySessionState& session, const Directory& directory,
                const BinarySettings& config) {
  CHECK(s.subscription != nullptr, "a push without a subscription");
  if (s.subscription->ending) return end_subscription(s, session, Status::ok);
  if (s.subscription->credit == 0) return BinaryNext::pause;
  const ConfigPtr* opened = session.queue(s.header.queue);
  CHECK(opened != nullptr, "a subscription of handle {}", s.header.queue);
  if (*opened == nullptr) return end_subscription(s, session, Status::no_such_queue);
  if (const ConfigPtr* current = directory.find((*opened)->id)) opened = current;
  if (!hides(s.subscription->visibility, **opened))
    return end_subscription(s, session, Status::invalid);
  s.empty = false;
  s.undelivering = false;
  s.answer.clear();
  s.answer_bytes_max = SIZE_MAX;
  s.config = &config;
  s.request.home = config.home;
  s.request.queue = (*opened)->id;
  return route_receive(s, session,
                       {.max = s.subscription->capacity(),
                        .visibility = s.subscription->visibility,
                        .wait = subscription_wait,
                        .attempt = {},
                        .bytes_max = s.subscription->bytes_max},
                       (*opened)->owner);
}

bool widen(BinaryCallState& s) {
  CHECK(s.subscription != nullptr, "a widened receive without a subscription");
  if (s.target != s.request.home || s.request.waiter == 0) return false;
  const std::uint32_t capacity = s.subscription->capacity();
  if (capacity <= s.request.receive.max) return false;
  if (s.deliveries.size() < capacity) s.deliveries.resize(capacity);
  s.request.deliveries = std::span(s.deliveries).first(capacity);
  s.request.receive.max = capacity;
  return true;
}

BinaryNext end_subscription(BinaryCallState& s, BinarySessionState& session, Status status) {
  CHECK(s.subscription != nullptr, "a subscription ends twice");
  session.subscriptions.remove(s.header.correlation);
  s.subscription = nullptr;
  s.empty = false;
  s.answer.clear();
  s.status = status;
  return BinaryNext::respond;
}

// The response to SUBSCRIBE follows when no DELIVER is under way.
BinaryNext unsubscribe(BinaryCallState& s, const BinaryArguments& call) {
  const auto [correlation] = take_struct<payload::Unsubscribe>(call.in);
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  Subscription* const subscription = call.session.subscriptions.find(correlation);
  if (subscription != nullptr) subscription->ending = true;
  return BinaryNext::respond;
}

}  // namespace pawl::binary
