// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/schedule_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace pawl::sim {
namespace {

constexpr int acts_a_run = 40;
constexpr std::uint64_t patience_us = 3'000'000;
constexpr std::size_t filler_bytes = 20'000;
constexpr Duration visibility = seconds(30);

Plan plan_of(std::uint64_t seed) {
  Random random = Random(seed).split("schedules");
  Plan plan;
  plan.seed = seed;
  plan.shards = static_cast<std::uint32_t>(random.between(1, 3));
  plan.log.segment_bytes = 64 << 10;
  plan.log.extent_bytes = 32 << 10;
  plan.slice_entries = random.between(1, 20);
  return plan;
}

}  // namespace

ScheduleRun::ScheduleRun(std::uint64_t seed, bool print)
    : trace_(print),
      random_(Random(seed).split("schedule run")),
      plan_(plan_of(seed)),
      world_(plan_, trace_, *this) {
  world_.run_schedules(reader_);
}

bool ScheduleRun::run() {
  start(0);
  fillers_.resize(plan_.shards);
  for (std::uint32_t shard = 0; shard < plan_.shards; ++shard) {
    std::string& name = fillers_[shard].name;
    for (name = "filler"; raw(shard_of("filler", name, plan_.shards)) != shard;) name += "x";
    make_queue(fillers_[shard]);
  }
  targets_.resize(random_.between(1, 3));
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    targets_[i].name = fmt::format("queue{}", i);
    make_queue(targets_[i]);
  }
  for (std::uint64_t i = random_.between(1, 3); i > 0; --i) make_schedule();
  for (int i = 0; i < acts_a_run && !in_trouble(); ++i) act();
  if (!in_trouble()) conclude();
  return !in_trouble();
}

void ScheduleRun::on_response(ShardId, Request& request) {
  answered_.insert(&request);
  if (request.op != Op::receive) return;
  for (const Delivery& delivery : request.deliveries.first(request.delivered))
    bodies_.emplace_back(delivery.content.body);
}

std::int64_t ScheduleRun::wall_ms() {
  const std::int64_t ms = world_.wall_ms();
  newest_wall_ms_ = std::max(newest_wall_ms_, ms);
  return ms;
}

void ScheduleRun::start(std::int64_t jump_ms) {
  const Start started = world_.start(jump_ms);
  if (started != Start::up) return trace_.broken("the broker starts", "{}", world_.complaint());
  wall_ms();
}

void ScheduleRun::crash() {
  constexpr std::array<std::int64_t, 6> off_ms = {0, 0, 0, 30'000, 200'000, -100'000};
  wall_ms();
  world_.crash(random_.chance(1, 2) ? Crash::power : Crash::process);
  for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).heal();
  start(off_ms[random_.below(off_ms.size())]);
}

// A shard whose log fails ends the broker, which is started again.
void ScheduleRun::turns(std::uint64_t us) {
  for (const std::uint64_t end = world_.now_us() + us; world_.now_us() < end && !in_trouble();
       world_.advance(random_.between(10, 200))) {
    for (std::uint32_t shard = 0; shard < plan_.shards && !in_trouble(); ++shard)
      if (world_.runnable(shard) && !world_.turn(shard)) return crash();
  }
  wall_ms();
}

void ScheduleRun::pass(std::uint64_t ms) {
  for (std::uint64_t left = ms; left > 0 && !in_trouble();) {
    const std::uint64_t some = std::min<std::uint64_t>(left, 1000);
    world_.advance(some * 900);
    turns(some * 100);
    left -= some;
  }
}

// False: the broker ended before the answer, or the request was refused for good.
bool ScheduleRun::ask(Request& request, ShardId to) {
  answered_.erase(&request);
  world_.submit(request, ShardId{0}, to);
  const std::uint64_t starts = world_.starts();
  for (std::uint64_t waited = 0; waited < patience_us && !in_trouble(); waited += 1000) {
    if (world_.starts() != starts) return false;
    if (answered_.contains(&request)) return request.error == Errc::ok;
    turns(1000);
  }
  if (world_.starts() != starts) return false;
  if (answered_.contains(&request)) return request.error == Errc::ok;
  crash();  // the request must not be answered after this function
  return false;
}

// --- queues and schedules ---

void ScheduleRun::make_queue(Target& target) {
  const bool filler = target.name.starts_with("filler");
  QueueSpec spec{
      .account = filler ? "filler" : "0", .name = target.name, .changes = {}, .tags = {}};
  while (!in_trouble()) {
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    const bool made = ask(create, control_shard);
    if (!made && create.error != Errc::queue_exists) continue;
    if (create.config == nullptr) continue;
    target.id = create.config->id;
    target.owner = create.config->owner;
    return;
  }
}

std::string ScheduleRun::definition_of(const Planned& planned) const {
  const Definition& now = planned.definitions.back();
  return fmt::format("every={} from={} queue={}{}{}", now.every_ms / 1000, now.from_ms,
                     planned.queue, planned.options, planned.paused ? " paused" : "");
}

void ScheduleRun::make_schedule() {
  constexpr std::array<std::int64_t, 4> every_s = {1, 7, 60, 300};
  constexpr std::array<std::string_view, 3> policies = {"", " catch=all", " catch=none"};
  Planned& planned = schedules_.emplace_back();
  planned.name = fmt::format("g/s{}", schedules_.size());
  planned.queue = random_.chance(1, 3) ? "*" : "0/" + targets_[random_.below(targets_.size())].name;
  planned.options = policies[random_.below(policies.size())];
  if (planned.queue != "*" && random_.chance(1, 4)) planned.options += " skip";
  planned.definitions.push_back(
      {1000 * every_s[random_.below(every_s.size())],
       wall_ms() + static_cast<std::int64_t>(random_.between(1000, 5000))});
  trace_.note("{} us: {} is {}", world_.now_us(), planned.name, definition_of(planned));
  QueueSpec spec{.account = "scheduler/0",
                 .name = planned.name,
                 .changes = {{Attribute::schedule, -1, definition_of(planned)}},
                 .tags = {}};
  while (!in_trouble()) {
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    if (!ask(create, control_shard) && create.error != Errc::queue_exists) {
      planned.changed = true;  // it may have come late
      continue;
    }
    if (create.config == nullptr) continue;
    planned.id = create.config->id;
    return;
  }
}

// A change moves the first fire behind itself, as proto/scheduler/ does it.
void ScheduleRun::change(Planned& planned) {
  planned.changed = true;
  Request request;
  request.queue = planned.id;
  AttributeChange set{Attribute::schedule, -1, {}};
  if (random_.chance(1, 4)) {
    planned.gone = true;
    request.op = Op::delete_queue;
  } else {
    planned.paused = !planned.paused && random_.chance(1, 2);
    planned.definitions.push_back({planned.definitions.back().every_ms, wall_ms() + 2000});
    set.text = definition_of(planned);
    request.op = Op::set_attributes;
    request.changes = {&set, 1};
  }
  ask(request, control_shard);
}

// --- acts ---

void ScheduleRun::act() {
  Target& target = targets_[random_.below(targets_.size())];
  Planned& planned = schedules_[random_.below(schedules_.size())];
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  const std::uint64_t what = random_.below(14);
  trace_.note("{} us: act {}, wall clock {}", world_.now_us(), what, world_.wall_ms());
  switch (what) {
    case 0:
    case 1:
      return turns(random_.between(1000, 50'000));
    case 2:
    case 3:
      return pass(random_.between(100, 20'000));
    case 4:
      return pass(random_.between(60'000, 130'000));
    case 5:
    case 6:
      return crash();
    case 7:
      stepped_ = true;
      // Until the broker notices a step, its clock shows the time before it.
      newest_wall_ms_ = std::max(newest_wall_ms_, wall_ms() + 12'000);
      world_.step_wall_clock(static_cast<std::int64_t>(random_.between(0, 400'000)) - 150'000);
      return pass(2000);
    case 8:
      world_.disk(shard).fail(IoKind::write, EIO, random_.below(6));
      return pass(1500);
    case 9:
      world_.disk(shard).set_capacity(world_.disk(shard).bytes_used());
      for (int i = 0; i < 6 && !in_trouble(); ++i) fill_log();
      pass(random_.between(1000, 80'000));
      return world_.disk(shard).heal();
    case 10:
      if (!planned.gone && random_.chance(1, 2)) change(planned);
      return;
    case 11: {
      if (!random_.chance(1, 4)) return;
      Request request;
      request.op = Op::delete_queue;
      request.queue = target.id;
      target.anew = true;
      ask(request, control_shard);
      target.seen.clear();
      return make_queue(target);
    }
    case 12:
      return fill_log();
    default:
      return receive(target, false);
  }
}

// Moves the log on, so that checkpoints replace the records of messages.
void ScheduleRun::fill_log() {
  const std::string body(filler_bytes, 'x');
  for (std::uint32_t shard = 0; shard < plan_.shards && !in_trouble(); ++shard) {
    const Target& filler = fillers_[shard];
    SendEntry entry{.content = {.body = body}};
    for (int i = 0; i < 4 && !in_trouble(); ++i) {
      Request send;
      send.op = Op::send;
      send.queue = filler.id;
      send.sends = {&entry, 1};
      entry.error = Errc::ok;
      ask(send, filler.owner);
    }
    Request purge;
    purge.op = Op::purge;
    purge.queue = filler.id;
    ask(purge, filler.owner);
  }
}

// --- messages ---

void ScheduleRun::receive(Target& target, bool all) {
  do {
    std::array<Delivery, 10> deliveries;
    Request request;
    request.op = Op::receive;
    request.queue = target.id;
    request.receive.max = static_cast<std::uint32_t>(random_.between(1, deliveries.size()));
    request.receive.wait = Duration{0};
    request.receive.visibility = visibility;
    request.deliveries = deliveries;
    batch_.clear();
    bodies_.clear();
    if (!ask(request, target.owner) || request.delivered == 0) return;
    std::vector<ReceiptEntry> receipts;
    for (std::size_t i = 0; i < request.delivered; ++i) {
      receipts.push_back({.handle = deliveries[i].handle});
      take(target, bodies_[i], deliveries[i].seq);
    }
    Request remove;
    remove.op = Op::delete_message;
    remove.queue = target.id;
    remove.receipts = receipts;
    ask(remove, target.owner);
  } while (all && !in_trouble());
}

void ScheduleRun::take(Target& target, const std::string& body, Seq seq) {
  ++received_;
  const std::int64_t fire = std::stoll(body);
  const std::string name = body.substr(body.find(' ') + 1);
  const auto planned = std::ranges::find(schedules_, name, &Planned::name);
  trace_.note("{} us: {} from queue {}", world_.now_us(), body, target.name);
  if (planned == schedules_.end()) return trace_.broken("a fire is one of its own", "{}", body);
  if (target.seen[name].try_emplace(fire, seq).first->second != seq)
    return trace_.broken("a fire comes once", "{} to queue {}", body, target.name);
  // A clock that is less than a second ahead is not set back at once.
  if (fire > newest_wall_ms_ + 1000)
    return trace_.broken("a fire is not early", "{}, the clock showed {}", body, newest_wall_ms_);
  const bool own = std::ranges::any_of(planned->definitions, [&](const Definition& one) {
    return fire >= one.from_ms && (fire - one.from_ms) % one.every_ms == 0;
  });
  if (!own) trace_.broken("a fire is one of its own", "{}", body);
  if (planned->options.contains("skip") && !batch_.insert(name).second)
    trace_.broken("a message waits alone", "{} in queue {}", body, target.name);
}

// --- the end ---

void ScheduleRun::conclude() {
  for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).heal();
  // Refused messages are sent again, the clock is looked at, and received messages come again.
  pass(15'000 + static_cast<std::uint64_t>(visibility.ms));
  for (Target& target : targets_) receive(target, true);
  for (const Planned& planned : schedules_)
    for (const Target& target : targets_)
      if (!in_trouble() && (planned.queue == "*" || planned.queue == "0/" + target.name))
        check_all_came(planned, target);
}

void ScheduleRun::check_all_came(const Planned& planned, const Target& target) {
  const bool none = planned.options.contains("none"), skip = planned.options.contains("skip");
  // A topic's fires may be lost if the clock is set forward and the server dies at once.
  if (planned.queue == "*" && stepped_) return;
  if (planned.changed || target.anew || none || skip) return;
  const Definition& definition = planned.definitions.front();
  // The last fires may be under way, and those of the last seconds of a clock that was set back
  // need not have been seen.
  const std::int64_t until = wall_ms() - 13'000;
  if (until < definition.from_ms) return;
  const auto found = target.seen.find(planned.name);
  const std::int64_t last =
      definition.from_ms + (until - definition.from_ms) / definition.every_ms * definition.every_ms;
  const bool any = found != target.seen.end();
  if (!any || found->second.rbegin()->first < last)
    return trace_.broken("no fire is forgotten", "{} of {} to queue {}", last, planned.name,
                         target.name);
  if (!planned.options.contains("all")) return;
  for (std::int64_t fire = definition.from_ms; fire <= last; fire += definition.every_ms)
    if (!found->second.contains(fire))
      return trace_.broken("no fire is forgotten", "{} of {} to queue {}", fire, planned.name,
                           target.name);
}

}  // namespace pawl::sim
