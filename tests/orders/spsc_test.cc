// SPDX-License-Identifier: Apache-2.0
// The orders of core/containers/spsc.h.
#include "core/containers/spsc.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/orders/model.h"
#include "tests/orders/order_table.h"

namespace pawl::orders {
namespace {

struct Stream {
  SpscRing<int, 2, ModelMemory> ring;
  int pushed = 0;
  int taken = 0;

  void take(std::size_t max) {
    ring.drain(max, [this](int item) { require(item == taken++, "a lost or torn item"); });
  }
};

// After both threads have ended, the main thread takes the rest.
std::shared_ptr<Stream> make_stream(Program& program) {
  auto stream = std::make_shared<Stream>();
  program.at_end([stream] {
    stream->take(2);
    stream->take(2);
    require(stream->taken == stream->pushed, "a lost item");
    require(stream->ring.empty(), "an item out of nothing");
  });
  return stream;
}

// Pushes into a ring that is full at times.
void push_when_full(Program& program) {
  const auto stream = make_stream(program);
  program.thread([stream] {
    for (int attempts = 0; attempts < 5; ++attempts) {
      if (stream->ring.push(stream->pushed)) ++stream->pushed;
      if (stream->ring.unpublished()) stream->ring.publish();
    }
  });
  program.thread([stream] {
    stream->take(1);
    stream->take(2);
    stream->take(1);
  });
}

// Pushes as much as free() allows.
void push_into_free_entries(Program& program) {
  const auto stream = make_stream(program);
  program.thread([stream] {
    for (int rounds = 0; rounds < 3; ++rounds) {
      for (std::size_t free = stream->ring.free(); free > 0; --free)
        require(stream->ring.push(stream->pushed++), "no free entry");
      if (stream->ring.unpublished()) stream->ring.publish();
    }
  });
  program.thread([stream] {
    for (int rounds = 0; rounds < 3; ++rounds) {
      if (!stream->ring.empty()) stream->take(2);
    }
  });
}

TEST(SpscOrders, EachIsNeeded) {
  constexpr auto unordered_read = "a data race: a read beside a write";
  constexpr auto unordered_write = "a data race: a write beside another access";
  const std::vector<OrderRow> rows = {
      {"publish store",    std::memory_order_release, unordered_read                    },
      {"drain load",       std::memory_order_acquire, unordered_read                    },
      {"drain store",      std::memory_order_release, unordered_write                   },
      {"push load",        std::memory_order_acquire, unordered_write                   },
      {"free load",        std::memory_order_acquire, unordered_write                   },
      {"unpublished load", std::memory_order_relaxed, "the producer reads its own store"},
      {"empty load",       std::memory_order_relaxed, "drain() orders the entries"      },
  };
  OrderTable("core/containers/spsc.h", {push_when_full, push_into_free_entries}, rows)
      .expect_orders();
}

}  // namespace
}  // namespace pawl::orders
