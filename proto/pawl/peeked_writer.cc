// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/peeked_writer.h"

#include <string_view>

#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "proto/pawl/peek_series.h"
#include "proto/text/network.h"
#include "proto/text/uuid.h"

namespace pawl {
namespace {

const AttributeFilter& every_attribute() {
  static constexpr std::string_view all[] = {"All"};
  static const AttributeFilter filter(all);
  return filter;
}

Md5 digest_of(const Content& content) {
  return content.body_md5 != nullptr ? *content.body_md5 : md5(content.body);
}

}  // namespace

PeekedWriter::PeekedWriter(const QueueConfig& queue, const CallSettings& settings, SqsForm form,
                           std::string& out, std::string& scratch)
    : settings_(settings),
      queue_(queue.id),
      result_(out, form),
      writer_({.settings = settings,
               .queue = queue.id,
               .account = queue.account,
               .fifo = queue.is_fifo(),
               .attributes = every_attribute()},
              result_, scratch) {}

void PeekedWriter::write(const PeekedMessage& message, const Delivery* delivery) {
  using State = PeekedMessage::State;
  CHECK(delivery == nullptr || delivery->seq == message.seq, "the body of another message");
  if (delivery == nullptr) {
    result_.begin_item("Message");
  } else {
    writer_.begin_peeked(*delivery, digest_of(delivery->content), {});
  }
  const bool known = delivery != nullptr || message.state == State::not_durable;
  result_.number("Number", static_cast<std::int64_t>(message.seq));
  result_.plain("State", name_of(known ? message.state : State::unreadable));
  if (message.until != Instant{})
    result_.number("VisibleAt", settings_.shift->wall(message.until).ms);
  if (delivery != nullptr && delivery->moved != Instant{}) {
    CHECK(delivery->moved.ms > 0, "moved at {}", delivery->moved.ms);
    result_.number("MovedAt", settings_.shift->wall(delivery->moved).ms);
    result_.number("ReceivesBeforeMove", delivery->moved_receives);
    const auto place = uuid_text(message_id(settings_.secret, queue_, message.seq));
    result_.plain("PlaceId", {place.data(), place.size()});
  }
  if (message.behind != 0) result_.number("Behind", static_cast<std::int64_t>(message.behind));
  if (message.consumer != ConsumerAddress{}) result_.plain("Consumer", text_of(message.consumer));
  if (message.cancelled) result_.truth("Cancelled", true);
  writer_.end();
}

void PeekedWriter::write(const Delivery& delivery, std::span<const MessageWriter::Pair> more) {
  writer_.begin_peeked(delivery, digest_of(delivery.content), more);
  writer_.end();
}

}  // namespace pawl
