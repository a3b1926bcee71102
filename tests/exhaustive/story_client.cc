// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/story_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "tests/exhaustive/allocations.h"
#include "tests/exhaustive/power_cut.h"

namespace pawl::exhaustive {
namespace {

constexpr int turns_max = 20'000;

// True: the request was refused before it had any effect.
bool is_refusal(Errc error) {
  return error == Errc::no_space || error == Errc::no_memory || error == Errc::overloaded ||
         error == Errc::no_such_queue || error == Errc::not_ready;
}

}  // namespace

StoryClient::StoryClient(const Scene& scene, Ledger& ledger, std::vector<sim::SimDisk*> disks,
                         std::vector<Disk*> seen, Instant now)
    : scene_(scene),
      ledger_(ledger),
      disks_(std::move(disks)),
      broker_(std::make_unique<MultiShardBroker>(scene, seen, *this)),
      base_(now) {
  for (const sim::SimDisk* disk : disks_)
    now_us_ = std::max(now_us_, sim::PowerCut::now_us(*disk) + 1000);
  base_ = now - Duration{static_cast<std::int64_t>(now_us_ / 1000)};
}

StoryClient::~StoryClient() = default;

Instant StoryClient::now() const {
  return base_ + Duration{static_cast<std::int64_t>(now_us_ / 1000)};
}

bool StoryClient::start() {
  for (sim::SimDisk* disk : disks_) disk->step(now_us_);
  if (const auto up = broker_->start(now(), refusal); !up) {
    refused = up.error().code;
    dead_ = true;
    return false;
  }
  if (broker_->not_before() > now()) base_ = base_ + (broker_->not_before() - now());
  return true;
}

std::string StoryClient::text(std::size_t queue) const {
  return QueueName{account, ledger_.queues[queue].name}.text();
}

// --- requests ---

StoryClient::Call& StoryClient::make(Op op, std::size_t queue) {
  Call& call = calls_.emplace_back();
  call.queue = queue;
  call.request.op = op;
  call.request.owner = &call;
  if (op != Op::create_queue) call.request.queue = id_of(queue);
  return call;
}

QueueId StoryClient::id_of(std::size_t queue) const {
  const ConfigPtr* const found = broker_->directory().find(account, ledger_.queues[queue].name);
  return found == nullptr ? QueueId::none : (*found)->id;
}

void StoryClient::submit(Call& call) {
  ++ledger_.version;
  const bool directory = call.request.op == Op::create_queue || call.request.op == Op::delete_queue;
  call.request.sends = call.sends;
  call.request.receipts = call.receipts;
  call.request.deliveries = call.deliveries;
  broker_->submit(call.request, directory ? control_shard : ledger_.queues[call.queue].owner);
}

std::size_t StoryClient::make_queue(std::string name, ShardId owner,
                                    std::vector<AttributeChange> changes) {
  Ledger::Queue made{.name = name, .owner = owner, .changes = changes};
  const std::string end =
      std::ranges::any_of(
          changes, [](const AttributeChange& c) { return c.attribute == Attribute::fifo_queue; })
          ? ".fifo"
          : "";
  made.fifo = !end.empty();
  made.name += end;
  for (int n = 0; shard_of(account, made.name, scene_.shards) != owner; ++n)
    made.name = fmt::format("{}{}{}", name, n, end);
  made.made = Said::asked;
  const std::size_t queue = ledger_.add_queue(std::move(made));
  if (dead_) return queue;
  Call& call = make(Op::create_queue, queue);
  call.spec = {std::string(account), ledger_.queues[queue].name, std::move(changes), {}};
  call.request.spec = &call.spec;
  submit(call);
  wait();
  return queue;
}

void StoryClient::delete_queue(std::size_t queue) {
  if (dead_) return;
  Call& call = make(Op::delete_queue, queue);
  ledger_.queues[queue].gone = Said::asked;
  ask_gone_all(call);
  submit(call);
}

void StoryClient::send(std::size_t queue, std::size_t count, std::size_t bytes,
                       const std::string& group) {
  if (dead_) return;
  Call& call = make(Op::send, queue);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t message = ledger_.add_message(queue, bytes, group);
    ledger_.messages[message].sent = Said::asked;
    call.messages.push_back(message);
    call.sends.emplace_back().content = ledger_.content(message);
  }
  submit(call);
}

void StoryClient::send_again(std::size_t message) {
  if (dead_) return;
  Call& call = make(Op::send, ledger_.messages[message].queue);
  call.messages = {message};
  call.sends.emplace_back().content = ledger_.content(message);
  submit(call);
}

void StoryClient::receive(std::size_t queue, std::uint32_t max, Duration visibility) {
  if (dead_) return;
  Call& call = make(Op::receive, queue);
  call.deliveries.resize(max);
  call.request.receive = {.max = max, .visibility = visibility, .wait = Duration{0}, .attempt = {}};
  submit(call);
}

void StoryClient::delete_messages(const std::vector<Held>& held) {
  if (dead_ || held.empty()) return;
  Call& call = make(Op::delete_message, held.front().queue);
  for (const Held& one : held) {
    call.receipts.push_back({.handle = one.handle});
    ask_gone(call, one.message);
  }
  submit(call);
}

void StoryClient::change(const std::vector<Held>& held, Duration visibility) {
  if (dead_ || held.empty()) return;
  Call& call = make(Op::change_visibility, held.front().queue);
  for (const Held& one : held)
    call.receipts.push_back({.handle = one.handle, .visibility = visibility});
  submit(call);
}

void StoryClient::purge(std::size_t queue) {
  if (dead_) return;
  Call& call = make(Op::purge, queue);
  ask_gone_all(call);
  submit(call);
}

void StoryClient::start_move(std::size_t queue, const std::string& destination) {
  if (dead_) return;
  Call& call = make(Op::start_move, queue);
  call.destination = destination;
  call.request.move.destination = call.destination;
  submit(call);
}

void StoryClient::ask_gone(Call& call, std::size_t message) {
  Ledger::SentMessage& of = ledger_.messages[message];
  if (of.gone == Said::nothing) of.gone = Said::asked;
  call.messages.push_back(message);
}

void StoryClient::ask_gone_all(Call& call) {
  for (std::size_t i = 0; i < ledger_.messages.size(); ++i) {
    if ((ledger_.messages[i].queues >> call.queue & 1) == 0) continue;
    ledger_.messages[i].forgotten = true;
    ask_gone(call, i);
  }
}

// --- responses ---

void StoryClient::on_response(Request& request) {
  const Uncounted uncounted;
  Call& call = *static_cast<Call*>(request.owner);
  call.answered = true;
  ++ledger_.version;
  Ledger::Queue& queue = ledger_.queues[call.queue];
  switch (request.op) {
    case Op::create_queue:
      if (request.error == Errc::ok) queue.made = Said::yes;
      break;
    case Op::delete_queue:
      if (request.error == Errc::ok) queue.gone = Said::yes;
      hear_gone(call, request.error == Errc::ok);
      break;
    case Op::purge:
    case Op::delete_message:
      hear_gone(call, request.error == Errc::ok);
      break;
    case Op::send:
      hear_send(call);
      break;
    case Op::receive:
      hear_receive(call);
      break;
    default:
      break;
  }
}

void StoryClient::hear_send(Call& call) {
  Ledger::Queue& queue = ledger_.queues[call.queue];
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    Ledger::SentMessage& message = ledger_.messages[call.messages[i]];
    const SendEntry& entry = call.sends[i];
    const Errc error = call.request.error != Errc::ok ? call.request.error : entry.error;
    if (error == Errc::ok) {
      if (queue.fifo && message.sent == Said::yes && !message.forgotten && !entry.duplicate)
        complaint = fmt::format("message {} was accepted a second time", call.messages[i]);
      if (!entry.duplicate) queue.newest = std::max(queue.newest, entry.seq);
      message.sent = Said::yes;
    } else if (is_refusal(error) && message.sent == Said::asked) {
      message.sent = Said::no;
    }
  }
}

void StoryClient::hear_receive(Call& call) {
  unreadable_ += call.request.unreadable;
  if (call.request.error != Errc::ok) return;
  for (const Delivery& delivery : call.request.deliveries.first(call.request.delivered)) {
    const std::size_t message = ledger_.which(delivery.content);
    if (message == Ledger::npos)
      complaint = fmt::format("queue {} delivers {} bytes that were never sent",
                              ledger_.queues[call.queue].name, delivery.content.body.size());
    held_.push_back({call.queue, message, delivery.handle});
  }
}

void StoryClient::hear_gone(Call& call, bool done) {
  for (std::size_t i = 0; i < call.messages.size() && done; ++i) {
    if (i < call.receipts.size() && call.receipts[i].error != Errc::ok) continue;
    ledger_.messages[call.messages[i]].gone = Said::yes;
  }
}

// --- time ---

bool StoryClient::all_answered() const {
  return std::ranges::all_of(calls_, [](const Call& call) { return call.answered; });
}

// Runs a turn of all shards, then one disk operation, or lets time pass to the next deadline.
// False: the broker failed, or nothing happens before `end`.
bool StoryClient::step(Instant end) {
  const bool worked = broker_->turn(now(), now_us_);
  if (after_turn) after_turn();
  dead_ = broker_->failed();
  if (dead_) return false;
  sim::SimDisk* next = nullptr;
  for (sim::SimDisk* disk : disks_) {
    if (disk->next_due() && (next == nullptr || *disk->next_due() < *next->next_due())) next = disk;
  }
  if (next != nullptr) {
    now_us_ = std::max(now_us_, *next->next_due());
    next->step(now_us_);
    return true;
  }
  if (worked) return true;
  const Instant due = broker_->next_deadline();
  if (due > end) return false;
  if (due > now()) now_us_ += static_cast<std::uint64_t>((due - now()).ms) * 1000;
  return true;
}

bool StoryClient::wait() {
  const Instant end = now() + wait_max;
  for (int turns = 0; !dead_ && !all_answered(); ++turns) {
    if ((step(end) && turns < turns_max) || dead_ || all_answered()) continue;
    complaint = "a request is never answered";
    dead_ = true;
  }
  if (!dead_) calls_.clear();
  return !dead_;
}

void StoryClient::pass(Duration time) {
  if (!wait()) return;
  now_us_ += static_cast<std::uint64_t>(time.ms) * 1000;
  rest();
}

void StoryClient::rest() {
  const Instant end = now() + seconds(1);
  for (int turns = 0; !dead_ && turns < turns_max && step(end); ++turns) {
  }
}

void StoryClient::stop() {
  if (!wait()) return;
  broker_->begin_drain();
  for (int turns = 0; turns < turns_max && !broker_->close(); ++turns) {
    broker_->turn(now(), now_us_);
    for (sim::SimDisk* disk : disks_) disk->step(now_us_ + 10'000);
    now_us_ += 10'000;
  }
  dead_ = true;
}

}  // namespace pawl::exhaustive
