// SPDX-License-Identifier: Apache-2.0
// Random requests against a model: a map of messages, searched completely each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/shard_harness.h"
#include "tests/sim/random.h"

namespace pawl::test {
namespace {

struct Known {
  Instant visible_at;
  bool delayed = false;
  bool tracked = false;     // it was delivered or delayed before
  std::uint64_t lease = 0;  // number of the delivery that it shares with others; 0: none
  std::uint32_t count = 0;
  Instant sent;
  std::vector<ReceiptHandle> handles;
};

class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {
    queue_ = world_
                 .create("q",
                         {
                             {Attribute::message_retention_period, 600, {}}
    })
                 .request.config->id;
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
      retire();
      serve_waiters();
      check();
    }
  }
  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t leases() const { return leases_; }

 private:
  struct Waiting {
    Ask* ask = nullptr;
    Instant until;
  };

  Instant now() { return world_.now(); }
  bool visible(const Known& known) { return known.visible_at <= now(); }
  std::int64_t up_to(std::uint64_t n) { return static_cast<std::int64_t>(random_.below(n)); }
  std::string any_body() {
    const auto it = messages_.lower_bound(std::to_string(random_.below(next_body_)));
    return it == messages_.end() ? messages_.begin()->first : it->first;
  }

  void step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 30) return send();
    if (dice < 55) return receive();
    if (dice < 85 && !messages_.empty()) return use_a_handle(dice);
    if (dice < 97) return world_.advance(seconds(up_to(random_.chance(1, 10) ? 100 : 4)));
    if (dice < 98) return restart();
    if (random_.chance(1, 2)) world_.slice();
    if (dice < 99) return cancel();
    if (random_.chance(1, 10)) return purge();
  }

  void send() {
    std::vector<std::string> bodies;
    for (std::uint64_t n = 1 + random_.below(4); n > 0; --n)
      bodies.push_back(std::to_string(next_body_++));
    const Duration delay = milliseconds(random_.chance(1, 3) ? up_to(20'000) : 0);
    const Ask& ask = world_.send(queue_, bodies, delay);
    EXPECT_TRUE(ask.answered);
    for (const std::string& body : bodies)
      messages_[body] = {.visible_at = now() + delay,
                         .delayed = delay.ms > 0,
                         .tracked = delay.ms > 0,
                         .sent = now()};
  }

  void receive() {
    const Duration wait = milliseconds(random_.chance(1, 3) ? up_to(20'000) : 0);
    const ReceiveParams params{.max = static_cast<std::uint32_t>(1 + random_.below(5)),
                               .visibility = milliseconds(random_.chance(1, 4) ? 0 : up_to(15'000)),
                               .wait = wait};
    const auto ready = static_cast<std::uint32_t>(
        std::ranges::count_if(messages_, [this](const auto& m) { return visible(m.second); }));
    Ask& ask = world_.receive(queue_, params);
    if (ready == 0 && wait.ms > 0) {
      EXPECT_FALSE(ask.answered);
      waiting_.push_back({&ask, now() + wait});
      return;
    }
    EXPECT_TRUE(ask.answered);
    EXPECT_EQ(ask.request.delivered, std::min(params.max, ready));
    take(ask);
  }

  // Each delivery must be of a message that was visible in the model at that time.
  void take(const Ask& ask) {
    EXPECT_EQ(ask.request.error, Errc::ok);
    std::vector<Known*> first_deliveries;
    for (const Delivery& delivery : ask.request.deliveries.first(ask.request.delivered)) {
      const std::string& body = world_.body_at(delivery.position);
      const auto it = messages_.find(body);
      ASSERT_NE(it, messages_.end()) << body << " is gone";
      Known& known = it->second;
      EXPECT_LE(known.visible_at, ask.answered_at) << body << " is hidden";
      EXPECT_EQ(delivery.receive_count, ++known.count);
      known.visible_at = ask.answered_at + ask.request.receive.visibility;
      known.delayed = false;
      known.lease = 0;
      if (!std::exchange(known.tracked, true)) first_deliveries.push_back(&known);
      known.handles.push_back(delivery.handle);
      ++deliveries_;
    }
    if (first_deliveries.size() < 2 || ask.request.receive.visibility.ms == 0) return;
    for (Known* const known : first_deliveries) known->lease = deliveries_;
    ++leases_;
  }

  void use_a_handle(std::uint64_t dice) {
    const std::string body = any_body();
    Known& known = messages_[body];
    if (known.handles.empty()) return;
    const std::size_t at =
        random_.chance(1, 4) ? random_.below(known.handles.size()) : known.handles.size() - 1;
    const bool latest = at == known.handles.size() - 1;
    const ReceiptHandle handle = known.handles[at];
    if (dice < 70) {
      EXPECT_EQ(world_.receipts(Op::delete_message, queue_, {handle}).receipts[0].error, Errc::ok);
      messages_.erase(body);
    } else if (dice < 82) {
      const Duration visibility = milliseconds(random_.chance(1, 4) ? 0 : up_to(20'000));
      EXPECT_EQ(
          world_.receipts(Op::change_visibility, queue_, {handle}, visibility).receipts[0].error,
          Errc::ok);
      known.visible_at = now() + visibility;
      known.lease = 0;
    } else {
      const bool in_flight = !visible(known);
      world_.receipts(Op::undeliver, queue_, {handle});
      if (!latest || !in_flight) return;
      --known.count;
      known.visible_at = now();
      known.lease = 0;
      known.handles.clear();  // older ones too: the model does not track which one is current
    }
  }

  void restart() {
    world_.flush();
    world_.crash(seconds(up_to(5)));
    waiting_.clear();
    for (auto& [body, known] : messages_) known.lease = 0;
  }

  void cancel() {
    if (waiting_.empty()) return;
    const auto it = waiting_.begin() + up_to(waiting_.size());
    EXPECT_TRUE(world_.shard().cancel(it->ask->request));
    waiting_.erase(it);
  }

  void purge() {
    const Ask& ask = world_.plain(Op::purge, queue_);
    if (ask.request.error == Errc::ok) messages_.clear();
  }

  // Requests come at whole seconds, the grain of this retention, so the model is exact.
  void retire() {
    std::erase_if(messages_,
                  [this](const auto& m) { return m.second.sent + seconds(600) <= now(); });
  }

  void serve_waiters() {
    while (!waiting_.empty()) {
      const auto done =
          std::ranges::find_if(waiting_, [](const Waiting& w) { return w.ask->answered; });
      if (done == waiting_.end()) break;
      if (done->ask->request.delivered == 0) {
        EXPECT_GE(now(), done->until) << "answered empty too early";
      }
      take(*done->ask);
      waiting_.erase(done);
    }
    for (const Waiting& waiting : waiting_)
      EXPECT_GT(waiting.until, now()) << "not answered in time";
    const bool ready =
        std::ranges::any_of(messages_, [this](const auto& m) { return visible(m.second); });
    EXPECT_FALSE(ready && !waiting_.empty()) << "somebody waits for a message that is there";
  }

  void check() {
    QueueCounts want;
    std::size_t leased = 0;
    std::set<std::uint64_t> leases;
    for (const auto& [body, known] : messages_) {
      if (visible(known)) {
        ++want.visible;
      } else {
        ++(known.delayed ? want.delayed : want.in_flight);
        if (known.lease == 0) continue;
        ++leased;
        leases.insert(known.lease);
      }
    }
    const Ask& ask = world_.plain(Op::count, queue_);
    EXPECT_EQ(ask.request.counts.visible, want.visible);
    EXPECT_EQ(ask.request.counts.in_flight, want.in_flight);
    EXPECT_EQ(ask.request.counts.delayed, want.delayed);
    EXPECT_EQ(world_.stored(), messages_.size()) << "messages the log keeps";
    EXPECT_EQ(world_.shard().messages(), messages_.size());
    EXPECT_EQ(world_.shard().waiting(), waiting_.size());
    // One timer for each lease, each other hidden message and each waiting receive, and one for the
    // queue's retention.
    const TimerWheel& timers = world_.shard().timers();
    const std::size_t armed =
        want.in_flight + want.delayed - leased + leases.size() + waiting_.size();
    EXPECT_GE(timers.size() - timers.stale(), armed);
    EXPECT_LE(timers.size() - timers.stale(), armed + 1);
  }

  sim::Random random_;
  ShardHarness world_;
  QueueId queue_;
  std::map<std::string, Known> messages_;
  std::vector<Waiting> waiting_;
  std::uint64_t next_body_ = 1;
  std::uint64_t deliveries_ = 0;
  std::uint64_t leases_ = 0;
};

TEST(ShardModel, DoesWhatAMapOfMessagesWouldDo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model(seed);
    model.run(2000);
    if (HasFailure()) return;
    EXPECT_GT(model.deliveries(), 100u);
    EXPECT_GT(model.leases(), 20u);
  }
}

}  // namespace
}  // namespace pawl::test
