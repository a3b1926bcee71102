// SPDX-License-Identifier: Apache-2.0
#include "tests/client/fake_broker.h"

namespace pawl {

bool FakeBroker::apply(Request& request, Instant now) {
  if (request.op == Op::create_queue) {
    create(request, now);
    return true;
  }
  const ConfigPtr* found = directory_.find(request.queue);
  if (!found) {
    request.error = Errc::no_such_queue;
    return true;
  }
  const ConfigPtr config = *found;
  Messages& messages = queues_[raw(request.queue)];
  switch (request.op) {
    case Op::send:
      send(request, *config, messages, now);
      return true;
    case Op::receive:
      return receive(request, *config, messages, now);
    case Op::delete_message:
    case Op::change_visibility:
    case Op::undeliver:
      with_receipts(request, messages, now);
      return true;
    case Op::purge:
      messages.clear();
      return true;
    case Op::count:
      count(request, messages, now);
      return true;
    case Op::delete_queue:
      queues_.erase(raw(request.queue));
      directory_.drop(request.queue);
      return true;
    case Op::set_attributes:
      change(request);
      return true;
    case Op::start_replay:
      start_replay(request, *config, now);
      return true;
    case Op::cancel_replay:
      cancel_replay(request);
      return true;
    case Op::list_replays:
      request.replay->tasks = replays_[raw(request.queue)];
      return true;
    default:
      request.error = Errc::not_supported;
      return true;
  }
}

void FakeBroker::create(Request& request, Instant now) {
  const QueueSpec& spec = *request.spec;
  if (const ConfigPtr* found = directory_.find(spec.account, spec.name)) {
    request.config = *found;
    for (const AttributeChange& wanted : spec.changes) {
      if ((*found)->has(wanted)) continue;
      request.error = Errc::queue_exists;
      request.differing = wanted.attribute;
      return;
    }
    return;
  }
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{next_queue_++};
  config->account = spec.account;
  config->name = spec.name;
  config->created = config->modified = now;
  for (const AttributeChange& wanted : spec.changes) config->apply(wanted);
  directory_.put(config);
  request.config = config;
}

void FakeBroker::change(Request& request) {
  auto config = std::make_shared<QueueConfig>(**directory_.find(request.queue));
  for (const AttributeChange& wanted : request.changes) config->apply(wanted);
  directory_.put(config);
  request.config = config;
}

void FakeBroker::send(Request& request, const QueueConfig& config, Messages& messages,
                      Instant now) {
  Seq& next = next_seq_[raw(config.id)];
  for (SendEntry& entry : request.sends) {
    const std::uint64_t producer = request.producer.id;
    if (config.is_fifo() || producer != 0) {
      auto& earlier = deduplicated_[raw(config.id)];
      const std::string id = producer == 0
                                 ? std::string(entry.content.dedup_id)
                                 : std::to_string(producer) + "/" + std::to_string(entry.sequence);
      const auto [at, added] = earlier.try_emplace(id, next + 1);
      entry.seq = at->second;
      if (!added) continue;
    }
    entry.seq = ++next;
    const Duration delay = entry.delay == queue_default ? config.delay() : entry.delay;
    messages[entry.seq] = {.body = std::string(entry.content.body),
                           .attributes = std::string(entry.content.attributes),
                           .system = std::string(entry.content.system),
                           .group = std::string(entry.content.group),
                           .dedup_id = std::string(entry.content.dedup_id),
                           .sent = now,
                           .visible_at = now + delay};
  }
}

bool FakeBroker::receive(Request& request, const QueueConfig& config, Messages& messages,
                         Instant now) {
  const ReceiveParams& params = request.receive;
  const Duration visibility =
      params.visibility == queue_default ? config.visibility() : params.visibility;
  for (auto& [seq, message] : messages) {
    if (request.delivered == params.max) break;
    if (message.visible_at > now) continue;
    message.visible_at = now + visibility;
    message.in_flight = true;
    if (message.receive_count++ == 0) message.first_received = now;
    Delivery& delivery = request.deliveries[request.delivered++];
    delivery = Delivery{};
    delivery.seq = seq;
    delivery.handle = seal(receipt_key_, {ShardId{0}, config.id, seq, message.receive_count});
    delivery.receive_count = message.receive_count;
    delivery.first_received = message.first_received;
    delivery.sent = message.sent;
    delivery.content = {.body = message.body,
                        .attributes = message.attributes,
                        .system = message.system,
                        .group = message.group,
                        .dedup_id = message.dedup_id};
  }
  const Duration wait = params.wait == queue_default ? config.wait() : params.wait;
  return request.delivered > 0 || wait.ms == 0;
}

void FakeBroker::with_receipts(Request& request, Messages& messages, Instant now) {
  for (ReceiptEntry& entry : request.receipts) {
    if (entry.error != Errc::ok) continue;
    const auto receipt = open(receipt_key_, entry.handle);
    if (!receipt || receipt->queue != request.queue) {
      entry.error = Errc::receipt_invalid;
      continue;
    }
    const auto found = messages.find(receipt->seq);
    if (found == messages.end()) {
      if (request.op == Op::change_visibility) entry.error = Errc::message_gone;
      continue;
    }
    if (request.op == Op::delete_message) {
      messages.erase(found);
    } else {
      const bool undeliver = request.op == Op::undeliver;
      found->second.visible_at = undeliver ? now : now + entry.visibility;
      if (undeliver) --found->second.receive_count;
    }
  }
}

void FakeBroker::count(Request& request, const Messages& messages, Instant now) {
  for (const auto& [seq, message] : messages) {
    if (message.visible_at <= now) {
      ++request.counts.visible;
    } else if (message.in_flight) {
      ++request.counts.in_flight;
    } else {
      ++request.counts.delayed;
    }
  }
}

void FakeBroker::start_replay(Request& request, const QueueConfig& config, Instant now) {
  ReplayParams& asked = *request.replay;
  std::vector<ReplayTask>& tasks = replays_[raw(config.id)];
  if (config.replay_retention() == Duration{0}) {
    request.error = Errc::not_kept;
  } else if (!tasks.empty() && tasks.front().status == ReplayTask::Status::running) {
    request.error = Errc::task_running;
  } else {
    asked.number = static_cast<std::uint32_t>(tasks.size()) + 1;
    tasks.insert(tasks.begin(), {.source = config.id,
                                 .number = asked.number,
                                 .rate = asked.rate,
                                 .from = asked.from,
                                 .to = asked.to.ms == 0 ? now : asked.to,
                                 .started = now,
                                 .sent = 5,
                                 .unreadable = 6,
                                 .destination = std::string(asked.destination),
                                 .filter = std::string(asked.filter)});
  }
}

void FakeBroker::cancel_replay(Request& request) {
  for (ReplayTask& task : replays_[raw(request.queue)]) {
    if (task.number != request.replay->number) continue;
    const bool running = task.status == ReplayTask::Status::running;
    request.error = running ? Errc::ok : Errc::task_ended;
    request.replay->sent = task.sent;
    if (running) task.status = ReplayTask::Status::cancelled;
    return;
  }
  request.error = Errc::no_such_task;
}

}  // namespace pawl
