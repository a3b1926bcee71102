// SPDX-License-Identifier: Apache-2.0
// Model of the numbers that a topic gives to published messages: a message that is published again
// within the window gets its first number, and no number is given twice.
#include <algorithm>

#include "core/queue/queue_config.h"
#include "tests/sim/model.h"

namespace pawl::sim {

void Model::decided_numbers(Call& call, bool duplicates, const Turn& turn) {
  QueueRow& topic = row(call);
  for (std::size_t i = 0; i < call.sends.size(); ++i) {
    const SendEntry& entry = call.sends[i];
    const bool decided = entry.seq != 0 && call.numbers_known[i] == 0;
    if (!decided || entry.duplicate != duplicates) continue;
    call.numbers_known[i] = entry.seq;
    call.decided_step = turn.step;
    judge_number(topic, static_cast<std::uint32_t>(call.names[i]), entry, turn);
  }
}

void Model::judge_number(QueueRow& topic, std::uint32_t text, const SendEntry& entry,
                         const Turn& turn) {
  std::vector<First>& firsts = topic.firsts[{0, text}];
  const auto counts = [&](const First& f) { return f.at + dedup_window > turn.now; };
  if (entry.duplicate) {
    const auto first = std::ranges::find(firsts, entry.seq, &First::seq);
    if (first == firsts.end())
      return trace_->broken("a number is that of the first", "topic {}: nothing is known of {}",
                            raw(topic.id), entry.seq);
    for (First& other : firsts) other.sure = other.seq == entry.seq;
    return;
  }
  for (const First& other : firsts) {
    if (other.sure && counts(other))
      return trace_->broken("a number is that of the first", "topic {}: {} for what is {}",
                            raw(topic.id), entry.seq, other.seq);
  }
  if (!topic.numbers.emplace(entry.seq, turn.step).second)
    return trace_->broken("numbers are not used again", "topic {}: {}", raw(topic.id), entry.seq);
  // A number that nobody heard of may have been lost in a crash, and given again.
  for (auto& [key, others] : topic.firsts)
    std::erase_if(others, [&](const First& other) { return other.seq == entry.seq; });
  for (First& other : firsts) other.sure = false;
  firsts.push_back({entry.seq, turn.now, turn.step, true});
}

void Model::answered_numbers(const Call& call, const Turn&) {
  if (!queue_answers(call)) return;
  for (std::size_t i = 0; i < call.sends.size(); ++i) {
    const SendEntry& entry = call.sends[i];
    if (entry.error == Errc::message_numbers_used_up) {
      if (!world_->numbers_run_out())
        trace_->broken("an error has a reason", "topic {} has numbers left",
                       raw(call.request.queue));
      continue;
    }
    if (entry.error != Errc::ok) continue;
    row(call).numbers[entry.seq] = 0;
    if (entry.seq != call.numbers_known[i])
      return trace_->broken("an answer names the number", "{}, not {}", entry.seq,
                            call.numbers_known[i]);
  }
  if (call.waits_for_numbers && call.decided_step > 0) durable(call.target, call.decided_step);
}

}  // namespace pawl::sim
