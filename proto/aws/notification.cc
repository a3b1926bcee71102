// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/notification.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "proto/aws/message_attributes.h"
#include "proto/text/base64.h"
#include "proto/text/json.h"
#include "proto/text/uuid.h"

namespace pawl {
namespace {

constexpr std::size_t length_bytes = 2;

bool has_envelope(const Delivery& delivery) { return delivery.content.subscription != MessageId{}; }

void write_attributes(std::string_view attributes, JsonWriter& json) {
  json.key("MessageAttributes");
  json.begin_object();
  AttributeReader reader(attributes);
  MessageAttribute a;
  while (reader.next(a)) {
    json.key(a.name);
    json.begin_object();
    json.member("Type", a.type);
    std::string base64;
    if (a.kind == AttributeKind::bytes) {
      append_base64(base64,
                    {reinterpret_cast<const std::uint8_t*>(a.value.data()), a.value.size()});
    }
    json.member("Value", a.kind == AttributeKind::bytes ? std::string_view(base64) : a.value);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string make_notification(std::string_view before, std::string_view between) {
  CHECK(before.size() <= UINT16_MAX, "{} bytes before the message", before.size());
  std::string text;
  text += static_cast<char>(before.size() & 0xFF);
  text += static_cast<char>(before.size() >> 8);
  text += before;
  text += between;
  return text;
}

std::optional<MessageId> subscription_of(std::string_view uuid) {
  const std::optional<MessageId> id = parse_uuid(uuid);
  if (!id) return std::nullopt;
  const std::array<char, 36> text = uuid_text(*id);
  return uuid == std::string_view(text.data(), text.size()) ? id : std::nullopt;
}

void append_envelope(std::string& out, const Content& content) {
  const std::array<char, 36> id = uuid_text(content.subscription);
  append_envelope(out, content, {id.data(), id.size()});
}

void append_envelope(std::string& out, const Content& content, std::string_view subscription) {
  const std::string_view stored = content.notification;
  CHECK(stored.size() > length_bytes, "a notification of {} bytes", stored.size());
  const std::size_t split =
      static_cast<std::uint8_t>(stored[0]) | std::size_t{static_cast<std::uint8_t>(stored[1])} << 8;
  const std::string_view texts = stored.substr(length_bytes);
  const std::string_view before = texts.substr(0, split);
  JsonWriter json(out);
  out += before;
  json.value(content.body);
  out += texts.substr(before.size());
  out += subscription;
  out += '"';
  if (!content.attributes.empty()) write_attributes(content.attributes, json);
  json.end_object();
}

void put_in_envelopes(std::span<Delivery> deliveries, std::string& memory) {
  if (std::ranges::none_of(deliveries, has_envelope)) return;
  std::vector<std::size_t> ends;  // the memory moves while it grows
  std::size_t at = memory.size();
  for (const Delivery& delivery : deliveries) {
    if (has_envelope(delivery)) append_envelope(memory, delivery.content);
    ends.push_back(memory.size());
  }
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    Content& content = deliveries[i].content;
    if (has_envelope(deliveries[i])) {
      content.body = std::string_view(memory).substr(at, ends[i] - at);
      content.attributes = content.notification = {};
      content.subscription = {};
      content.body_md5 = nullptr;
    }
    at = ends[i];
  }
}

}  // namespace pawl
