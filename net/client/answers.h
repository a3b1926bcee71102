// SPDX-License-Identifier: Apache-2.0
// Requests and responses: the client's types to and from proto/binary/payloads.h.
//
// Each function appends to vectors that are reused between calls. False: the payload violates the
// protocol.
//
// Owner: free functions; views point into the payload.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/client/pawl/client.h"

namespace pawl::client {

// The shortest pause before a request that failed is repeated.
inline constexpr std::chrono::milliseconds retry_min{20};

inline constexpr std::size_t attributes_max = 10;                    // of a message
inline constexpr std::string_view time_to_live_attribute = "x-ttl";  // among the system attributes

// Codes of a server that can answer later.
inline bool is_retryable(Client::Code code) {
  const auto number = static_cast<std::uint16_t>(code);
  return number >= 2000 && number < 3000;
}
// Codes of the client itself: the server did not answer.
inline bool is_unanswered(Client::Code code) { return static_cast<std::uint16_t>(code) >= 9000; }
// `words` random words in hexadecimal, for ids that no other client makes.
std::string random_text(unsigned words);

// Requests.
Client::Code put_message(std::string& out, const Client::Outgoing& message,
                         const Client::SendOptions& options = {});  // ok, too_large, bad_attributes
void put_receive(std::string& out, const Client::ReceiveOptions& options);
void put_subscribe(std::string& out, const Client::SubscribeOptions& options);
// CHANGE with a visibility timeout, DELETE_MESSAGE without.
void put_receipts(std::string& out, std::span<const Client::Receipt> receipts,
                  std::optional<std::chrono::milliseconds> visibility);
Client::Code put_queue_attributes(std::string& out,
                                  std::span<const Client::QueueAttribute> attributes);
std::uint32_t wire_ms(const std::optional<std::chrono::milliseconds>& duration);

// Responses.
// `challenge` stays empty if the server does not require a key.
bool take_server(std::string_view payload, Client::Server& server, std::uint32_t& features,
                 std::string_view& challenge);
bool take_queue(std::string_view payload, Client::Queue& queue);
bool take_counts(std::string_view payload, Client::Counts& counts);
bool take_description(std::string_view payload, Client::QueueDescription& description);
bool take_names(std::string_view payload, Client::QueueList& list);
bool take_tags(std::string_view payload, Client::Tags& tags);
bool take_moves(std::string_view payload, std::vector<Client::Move>& moves);
bool take_replays(std::string_view payload, std::vector<Client::Replay>& replays);
bool take_sent(std::string_view payload, std::vector<Client::Sent>& sent);
bool take_messages(std::string_view payload, std::vector<Client::MessageView>& messages);
bool take_cancelled(std::string_view payload, std::vector<Client::Cancelled>& outcomes);
bool take_codes(std::string_view payload, std::vector<Client::Code>& codes);

}  // namespace pawl::client
