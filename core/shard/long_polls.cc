// SPDX-License-Identifier: Apache-2.0
#include "core/shard/long_polls.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

LongPolls::LongPolls(ShardState& state) : state_(state), waiters_(state.limits.waiters_max) {}

void LongPolls::park(Queue& queue, Request& request, Instant now, Duration wait,
                     bool awaits_moves) {
  const std::uint32_t row = waiters_.take();
  CHECK(row != Slab<Waiter>::none);
  CHECK(wait.ms > 0, "a wait of {} ms", wait.ms);
  CHECK(request.waiter == 0, "the receive waits already, in row {}", request.waiter);
  Waiter& waiter = waiters_[row];
  waiter.request = &request;
  waiter.queue = queue.id;
  link(queue.waiters, &Waiter::all, row);
  if (awaits_moves) link(queue.awaiting_moves, &Waiter::awaiting_moves, row);
  const std::string_view attempt = request.receive.attempt;
  waiter.attempt = attempt.empty() || !queue.config->is_fifo()
                       ? waiting_attempts_.end()
                       : waiting_attempts_.emplace(
                             std::pair{queue.id, text_key(state_.identity.secret, attempt)}, row);
  request.waiter = row;
  state_.timers.arm(now, wait, timer_waiter, row, waiter.generation);
}

Request* LongPolls::unpark(Queue& queue, std::uint32_t row) {
  Waiter& waiter = waiters_[row];
  CHECK(waiter.request != nullptr && waiter.queue == queue.id);
  CHECK(waiter.request->waiter == row, "the request waits in row {}", waiter.request->waiter);
  unlink(queue.waiters, &Waiter::all, row);
  if (row == queue.awaiting_moves.first || waiter.awaiting_moves.prev != 0)
    unlink(queue.awaiting_moves, &Waiter::awaiting_moves, row);
  if (waiter.attempt != waiting_attempts_.end()) waiting_attempts_.erase(waiter.attempt);
  Request* const request = waiter.request;
  request->waiter = 0;
  waiter.request = nullptr;
  ++waiter.generation;
  waiters_.give(row);
  return request;
}

Request* LongPolls::unpark_early(Queue& queue, std::uint32_t row) {
  state_.timers.cancelled();
  return unpark(queue, row);
}

bool LongPolls::cancel(Request& request) {
  if (request.waiter == 0) return false;
  Queue* const queue = state_.find_queue(request.queue);
  CHECK(queue != nullptr, "a waiter of a queue that is gone");
  CHECK(waiters_[request.waiter].request == &request, "row {} has another request", request.waiter);
  unpark_early(*queue, request.waiter);
  return true;
}

void LongPolls::answer_all(Queue& queue, Errc error, Effects& effects) {
  while (!queue.waiters.empty()) {
    Request* const request = unpark_early(queue, queue.waiters.first);
    request->error = error;
    effects.replies.push_back({request, false});
  }
}

bool LongPolls::live(const TimerEntry& entry) const {
  if (!waiters_.there(entry.subject)) return false;
  const Waiter& waiter = waiters_[entry.subject];
  return waiter.request != nullptr && waiter.generation == entry.generation;
}

void LongPolls::link(RowList& list, RowLinks Waiter::* links, std::uint32_t row) {
  CHECK((list.first == 0) == (list.last == 0) && list.last != row, "{} to {}", list.first,
        list.last);
  waiters_[row].*links = {.prev = list.last, .next = 0};
  (list.empty() ? list.first : (waiters_[list.last].*links).next) = row;
  list.last = row;
}

void LongPolls::unlink(RowList& list, RowLinks Waiter::* links, std::uint32_t row) {
  const RowLinks of = std::exchange(waiters_[row].*links, {});
  CHECK(of.prev != 0 || list.first == row, "row {} is not the first", row);
  CHECK(of.next != 0 || list.last == row, "row {} is not the last", row);
  (of.prev == 0 ? list.first : (waiters_[of.prev].*links).next) = of.next;
  (of.next == 0 ? list.last : (waiters_[of.next].*links).prev) = of.prev;
}

void LongPolls::want_match(Queue& queue) {
  if (queue.in_match_list || queue.waiters.empty()) return;
  queue.in_match_list = true;
  match_list_.push_back(queue.id);
  state_.arm(ShardPart::match);
}

std::uint64_t LongPolls::memory() const {
  return waiters_.bytes() + waiting_attempts_.size() *
                                (ShardState::map_node_bytes + sizeof(*waiting_attempts_.begin()));
}

}  // namespace pawl
