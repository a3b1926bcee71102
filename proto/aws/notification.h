// SPDX-License-Identifier: Apache-2.0
// Notifications: the envelope in which a queue's receivers get a message of a topic, unless its
// subscription asks for raw messages.
//
// All queues of a topic share one stored message. It has the text as published, its attributes and
// what is the same in every envelope (Content::notification); each queue's message has the id of
// its subscription (Content::subscription). The envelope is made when the message is received.
//
//   {"Type":"Notification", ... "Message":  "the body"  , ... "UnsubscribeURL":"http://...:  id  "
//   \------------- before ---------------/              \------------- between -----------/
//   [,"MessageAttributes":{...}]}
//
// Stored: the length of `before` in two bytes, little endian, then both texts.
//
// Limits: notification_bytes_max.
// Errors: none; the text was made by this process or has passed the checks of the log.
// Owner:  the strings passed in.
// Source: SNS Developer Guide, "Raw message delivery"; recorded from AWS.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/queue/request.h"

namespace pawl {

// The text for Content::notification; it may be longer than notification_bytes_max.
std::string make_notification(std::string_view before, std::string_view between);

// The subscription of a UUID in small letters; nothing: another text.
std::optional<MessageId> subscription_of(std::string_view uuid);

// Appends the body that receivers of the message get. The second form names the subscription, of
// which the content has none.
void append_envelope(std::string& out, const Content& content);
void append_envelope(std::string& out, const Content& content, std::string_view subscription);

// Replaces the contents that have a subscription by their envelopes, which are appended to
// `memory`.
void put_in_envelopes(std::span<Delivery> deliveries, std::string& memory);

}  // namespace pawl
