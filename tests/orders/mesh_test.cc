// SPDX-License-Identifier: Apache-2.0
// The orders of net/engine/mesh.h: shards that sleep when no message has arrived.
#include "net/engine/mesh.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "tests/orders/model.h"
#include "tests/orders/order_table.h"

namespace pawl::orders {
namespace {

constexpr std::size_t slots = 2;
using Mesh = BasicMesh<ModelMemory, slots>;
using Port = BasicMeshPort<ModelMemory, slots>;

constexpr ShardId zero{0}, one{1}, two{2};

class Shards {
 public:
  explicit Shards(std::uint32_t count) : mesh_(count), bells_(count) {
    for (std::uint32_t i = 0; i < count; ++i)
      ports_.emplace_back(mesh_, ShardId{static_cast<std::uint8_t>(i)});
  }

  void send(ShardId from, ShardId to, std::size_t number) {
    payloads_[number] = static_cast<int>(number);
    MeshMessage message{.kind = MeshMessage::Kind::connection};
    message.number = number;
    Port& port = ports_[raw(from)];
    port.send(to, message);
    for (std::uint64_t wakes = port.publish(); wakes != 0; wakes &= wakes - 1)
      bells_[static_cast<std::size_t>(std::countr_zero(wakes))].ring();
  }

  // Receives so many messages, as a worker does; it sleeps whenever it may. The time of its first
  // sleeps, as many as `timeouts`, is over at once.
  void receive(ShardId self, std::size_t count, int timeouts = 0) {
    Port& port = ports_[raw(self)];
    std::size_t received = 0;
    while (received < count) {
      received += port.drain(slots, [this](ShardId, const MeshMessage& message) {
        require(payloads_[message.number] == static_cast<int>(message.number), "a torn message");
      });
      if (received < count && port.try_sleep()) {
        if (timeouts-- <= 0) bells_[raw(self)].wait();
        port.awake();
      }
    }
  }

 private:
  Mesh mesh_;
  std::vector<Port> ports_;
  std::vector<Bell> bells_;  // in place of the system calls that wake
  std::array<ModelPlain<int>, 4> payloads_;
};

void one_sender(Program& program) {
  const auto shards = std::make_shared<Shards>(2);
  program.thread([shards] {
    shards->send(one, zero, 1);
    shards->send(one, zero, 2);
  });
  program.thread([shards] { shards->receive(zero, 2); });
}

void sleep_that_ends_by_time(Program& program) {
  const auto shards = std::make_shared<Shards>(2);
  program.thread([shards] {
    shards->send(one, zero, 1);
    shards->send(one, zero, 2);
  });
  program.thread([shards] { shards->receive(zero, 2, 1); });
}

void two_senders(Program& program) {
  const auto shards = std::make_shared<Shards>(3);
  program.thread([shards] { shards->send(one, zero, 1); });
  program.thread([shards] { shards->send(two, zero, 2); });
  program.thread([shards] { shards->receive(zero, 2); });
}

void both_ways(Program& program) {
  const auto shards = std::make_shared<Shards>(2);
  program.thread([shards] {
    shards->send(one, zero, 1);
    shards->receive(one, 1);
  });
  program.thread([shards] {
    shards->receive(zero, 1);
    shards->send(zero, one, 2);
  });
}

TEST(MeshOrders, EachIsNeeded) {
  constexpr auto lost = "a lost wake-up: every thread waits";
  constexpr auto by_try_sleep = "try_sleep() finds the messages before the next sleep";
  const std::vector<OrderRow> rows = {
      {"publish fetch_or",     std::memory_order_release, lost,         lost},
      {"try_sleep exchange",   std::memory_order_acquire, lost,         lost},
      {"try_sleep exchange 2", std::memory_order_relaxed, by_try_sleep, lost},
      {"awake exchange",       std::memory_order_relaxed, by_try_sleep, lost},
  };
  OrderTable("net/engine/mesh.h", {one_sender, two_senders, both_ways, sleep_that_ends_by_time},
             rows)
      .expect_orders();
}

}  // namespace
}  // namespace pawl::orders
