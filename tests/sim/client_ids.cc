// SPDX-License-Identifier: Apache-2.0
// Requests of the simulated clients with message ids: cancel and reschedule.
#include <algorithm>

#include "tests/sim/clients.h"

namespace pawl::sim {

// Messages of the queue: some that are there, and some whose handles are known; they may be gone.
// `born`: that were sent to it; others have a place in it by which they can be cancelled.
std::vector<std::uint32_t> Clients::some_messages(std::uint32_t queue, bool born) {
  const std::vector<std::uint32_t>& there = model_->queues()[queue].messages;
  std::vector<std::uint32_t> chosen;
  const auto choose = [&](std::uint32_t id) {
    if (is_message(id) && (born ? model_->born_here(id, queue) : model_->is_here(id, queue)) &&
        std::ranges::find(chosen, id) == chosen.end())
      chosen.push_back(id);
  };
  for (std::uint64_t more = by_id_.between(1, plan_.batch_max); more > 0; --more) {
    if (!there.empty() && !by_id_.chance(1, 5)) choose(there[by_id_.below(there.size())]);
    if (held_.empty() || !by_id_.chance(1, 5)) continue;
    const Held& held = held_[by_id_.below(held_.size())];
    if (held.queue == queue) choose(held.message);
  }
  return chosen;
}

bool Clients::by_id(Op op, std::uint32_t client, std::uint32_t queue) {
  using By = ReceiptEntry::By;
  const std::vector<std::uint32_t> chosen = some_messages(queue, op != Op::delete_message);
  if (chosen.empty()) return false;
  Call& call = make(op, client, queue);
  for (const std::uint32_t id : chosen) {
    const bool in_flight_too = op == Op::delete_message && by_id_.chance(1, 3);
    ReceiptEntry entry{.by = in_flight_too ? By::id_even_in_flight : By::id};
    entry.id = message_id(world_->secret(), call.request.queue, model_->message(id).seq);
    const std::int64_t waits[] = {0, 0, 5, 900, 4000, 30'000, 100'000};
    if (op == Op::change_visibility)
      entry.visibility = milliseconds(waits[by_id_.below(std::size(waits))]);
    call.receipts.push_back(entry);
    call.messages.push_back(id);
  }
  submit(call);
  return true;
}

}  // namespace pawl::sim
