// SPDX-License-Identifier: Apache-2.0
// Bodies of messages: used in place in the log's memory, or read from the disk when they are only
// there.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/shard/peek.h"
#include "net/engine/shard_loop.h"

namespace pawl {
namespace {

void fill(const Request& request, Delivery& delivery, const StoredMessage& stored) {
  delivery.take(stored.sent, stored.deliver_at, stored.carried.id, stored.content);
  delivery.moved = stored.carried.arrived;
  delivery.moved_receives = stored.carried.receive_count;
  delivery.durable = stored.relocated ? never : Instant{};  // see note_durable()
  if (request.op == Op::peek)
    add_record(*request.peek, delivery.seq,
               {.deliver_at = stored.deliver_at,
                .time_to_live = stored.time_to_live,
                .aged_apart = stored.aged_apart,
                .fire = stored.fire});
}

// Their records are all copied, and stay where they are.
void take_copies(const Request& request, std::span<Delivery> fetched) {
  for (Delivery& delivery : fetched) {
    CHECK(delivery.copy < request.route.copied.size(), "at {} of {}", delivery.copy,
          request.route.copied.size());
    const StoredMessage stored = trusted_message(
        reinterpret_cast<const std::byte*>(request.route.copied.data()) + delivery.copy,
        request.queue);
    fill(request, delivery, stored);
  }
}

// A record that has moved within the log no longer tells when it was written.
void note_durable(std::unique_ptr<DurableTimes>& times, const Log& log,
                  std::span<Delivery> deliveries, Instant now) {
  if (!times) {
    times = std::make_unique<DurableTimes>();
    times->note(log.committed(), now);
  }
  for (Delivery& delivery : deliveries)
    delivery.durable = delivery.durable == never
                           ? Instant{}
                           : times->of(full_position(delivery.position, log.appended()));
}

}  // namespace

void ShardLoop::want(LogPos position, Request& request, std::uint32_t delivery) {
  CHECK(position != log_pos_none);
  log_->want({position, &request, delivery});
  ++unread_;
}

// Fills the deliveries from the log's memory; bodies on the disk arrive with take_bodies(). `copy`:
// the bodies are copied, not used in place. If one body is read from the disk, all are copied: its
// neighbours may leave the memory before it arrives.
void ShardLoop::fetch(Request& request, bool copy) {
  RequestRoute& route = request.route;
  CHECK(request.delivered <= request.deliveries.size(), "{} deliveries", request.delivered);
  CHECK(route.fetched == 0 && route.unread == 0, "{} bodies were fetched", route.fetched);
  if (request.op == Op::receive) stats_.received += request.delivered;
  const std::span<Delivery> deliveries = request.deliveries.first(request.delivered);
  const auto in_memory = [this](const Delivery& d) { return log_->in_memory(d.position); };
  route.held = !std::ranges::all_of(deliveries, in_memory);
  route.largest = log_->max_record_bytes();
  if (route.held) {
    for (const Delivery& delivery : deliveries) log_->pin(delivery.position);
  }
  if (route.held || copy) return fetch_on(request);
  for (Delivery& delivery : deliveries)
    take_body(request, delivery, log_->record(delivery.position), false);
  route.fetched = request.delivered;
  resolve(request);
}

// Fetches bodies in order and a few at a time, because the size of a body is known only when it is
// read.
void ShardLoop::fetch_on(Request& request) {
  RequestRoute& route = request.route;
  CHECK(route.fetched <= request.delivered, "{} of {}", route.fetched, request.delivered);
  const auto enough = [&](std::uint64_t bytes) { return bytes >= request.receive.bytes_max; };
  while (route.fetched < request.delivered && route.unread < wants_max &&
         !enough(route.copied.size() + route.unread * route.largest)) {
    Delivery& delivery = request.deliveries[route.fetched];
    if (log_->in_memory(delivery.position)) {
      take_body(request, delivery, log_->record(delivery.position), true);
    } else {
      want(delivery.position, request, route.fetched);
      ++route.unread;
    }
    if (route.held) log_->unpin(delivery.position);
    ++route.fetched;
  }
  CHECK(route.unread <= wants_max, "{} bodies are read", route.unread);
  if (route.unread == 0) resolve(request);
}

// Returns whether any body has arrived.
bool ShardLoop::take_bodies() {
  bool any = false;
  WantedBody wanted;
  std::span<const std::byte> bytes;
  while (log_->next_body(wanted, bytes)) {
    any = true;
    CHECK(unread_ > 0, "a body that nobody wants");
    --unread_;
    const std::byte* const record = bytes.empty() ? nullptr : bytes.data();
    Request& request = *wanted.request;
    if (request.op == Op::transfer) {
      send_transfer(*request.transfer, record);
      continue;
    }
    CHECK(request.route.unread > 0 && wanted.delivery < request.route.fetched, "body {} of {}",
          wanted.delivery, request.route.fetched);
    take_body(request, request.deliveries[wanted.delivery], record, true);
    --request.route.unread;
    fetch_on(request);
    if (request.route.unread == 0 && !request.route.unflushed) answer(request);
  }
  return any;
}

// `record` null: the body cannot be read. The message is not delivered, neither now nor before the
// next startup; a peek changes nothing for others.
void ShardLoop::take_body(Request& request, Delivery& delivery, const std::byte* record,
                          bool copy) {
  delivery.copy = 0;
  if (record != nullptr) {
    const StoredMessage stored = trusted_message(record, request.queue);
    if (stored.queue != request.queue || stored.seq != delivery.seq) {
      record = nullptr;
    } else if (copy) {
      const std::size_t bytes = record_length(record);
      // The first body replaces the initial maximum.
      request.route.largest =
          std::max(request.route.copied.empty() ? 0 : request.route.largest, bytes);
      delivery.copy = request.route.copied.size();
      request.route.copied.append(reinterpret_cast<const char*>(record), bytes);
    } else {
      fill(request, delivery, stored);
    }
  }
  if (record != nullptr) return;
  delivery.copy = Delivery::unreadable;
  if (request.op == Op::peek) return;
  ++stats_.unreadable;
  stats_.unreadable_queue = request.queue;
  stats_.unreadable_seq = delivery.seq;
  shard_->set_aside(request.queue, delivery.seq);
}

// Completes the request: all bodies are read, or enough bytes.
void ShardLoop::resolve(Request& request) {
  CHECK(request.route.fetched <= request.delivered, "{} of {}", request.route.fetched,
        request.delivered);
  const std::span<Delivery> left =
      request.deliveries.first(request.delivered).subspan(request.route.fetched);
  for (const Delivery& delivery : left)
    if (request.route.held) log_->unpin(delivery.position);
  request.unfetched = static_cast<std::uint32_t>(left.size());
  const bool shortened = request.op == Op::peek && !left.empty();
  if (shortened) end_before(*request.peek, left.front().seq);
  if (request.op == Op::receive) {
    CHECK(stats_.received >= left.size(), "{} of {}", left.size(), stats_.received);
    stats_.received -= left.size();
  }
  std::span<Delivery> fetched = request.deliveries.first(request.route.fetched);
  const auto good = [](const Delivery& d) { return d.copy != Delivery::unreadable; };
  if (!std::ranges::all_of(fetched, good)) {  // rare, and stable_partition() allocates
    const auto bad = std::ranges::stable_partition(fetched, good);
    fetched = fetched.first(fetched.size() - bad.size());
    request.unreadable = static_cast<std::uint32_t>(bad.size());
    std::rotate(bad.begin(), bad.end(), left.end());
    request.delivered -= request.unreadable;
  }
  if (shortened) request.delivered -= std::exchange(request.unfetched, 0);
  if (!request.route.copied.empty()) take_copies(request, fetched);
  if (request.receive.times) note_durable(durable_times_, *log_, fetched, now_);
  if (request.op == Op::receive) shard_->delivered(request.queue, fetched, now_);
}

// Copies messages that move to another queue out of the log while the log surely has them.
void ShardLoop::send_transfers() {
  for (Transfer* const transfer : effects_.transfers) {
    if (log_->in_memory(transfer->position)) {
      send_transfer(*transfer, log_->record(transfer->position));
    } else {
      want(transfer->position, transfer->request, 0);
    }
  }
}

void ShardLoop::send_transfer(Transfer& transfer, const std::byte* record) {
  CHECK(transfer.stage == Transfer::Stage::accept, "stage {}", static_cast<int>(transfer.stage));
  StoredMessage stored;
  if (record != nullptr) stored = trusted_message(record, transfer.from.queue);
  if (stored.queue != transfer.from.queue || stored.seq != transfer.from.seq) {
    transfer.request.error = Errc::corrupt;
    transfer.stage = Transfer::Stage::commit;
  } else {
    transfer.sent = stored.sent;
    transfer.id = stored.carried.id;
    transfer.keep(stored.content);
    note_growth(1 + transfer.bytes.size() / 4096);
    shard_->address(transfer);
  }
  const bool unaddressed = transfer.stage == Transfer::Stage::commit;
  route(transfer.request, unaddressed ? port_->self() : transfer.to);
}

}  // namespace pawl
