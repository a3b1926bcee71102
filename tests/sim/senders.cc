// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/senders.h"

#include <vector>

namespace pawl::sim {

void Senders::number(Call& call) {
  Sender& sender = senders_[{call.client, call.queue}];
  if (sender.number == 0) {
    sender.number = ++made_;
    sender.id = random_.next() | 1;
  }
  for (SendEntry& entry : call.sends) entry.sequence = pick(sender);
  call.sender = sender.number;
  call.connection = sender.connection;
  call.request.producer = {sender.id, sender.unsettled.begin()->first};
}

std::uint32_t Senders::pick(Sender& sender) {
  std::vector<std::uint32_t> again;
  for (const auto& [sequence, in_flight] : sender.unsettled)
    if (!in_flight) again.push_back(sequence);
  const bool fresh = again.empty() || random_.chance(1, 3);
  const std::uint32_t sequence = fresh ? sender.next++ : again[random_.below(again.size())];
  sender.unsettled[sequence] = true;
  return sequence;
}

void Senders::answered(const Call& call) {
  if (call.sender == 0) return;
  Sender& sender = senders_[{call.client, call.queue}];
  if (call.connection != sender.connection) return;  // nobody reads the response
  for (const SendEntry& entry : call.sends) {
    const bool settled = call.request.error == Errc::ok &&
                         (entry.error == Errc::ok || entry.error == Errc::message_numbers_used_up);
    if (settled) {
      sender.unsettled.erase(static_cast<std::uint32_t>(entry.sequence));
    } else {
      sender.unsettled[static_cast<std::uint32_t>(entry.sequence)] = false;
    }
  }
}

void Senders::dropped(std::uint32_t client) {
  ++connections_;
  for (auto& [key, sender] : senders_) {
    if (key.first != client) continue;
    sender.connection = connections_;
    for (auto& [sequence, in_flight] : sender.unsettled) in_flight = false;
  }
}

void Senders::crashed() {
  ++connections_;
  for (auto& [key, sender] : senders_) {
    sender.connection = connections_;
    for (auto& [sequence, in_flight] : sender.unsettled) in_flight = false;
  }
}

}  // namespace pawl::sim
