// SPDX-License-Identifier: Apache-2.0
// Litmus tests: small programs whose possible results C++ states, which the model has to return.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/orders/model.h"

namespace pawl::orders {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

using Results = std::set<std::vector<int>>;

struct State {
  ModelAtomic<int> x, y;
  ModelPlain<int> data;
  int a = 0, b = 0, c = 0, d = 0;
};
using Threads = std::vector<void (*)(State&)>;

void add(Program& program, const Threads& threads, const std::shared_ptr<State>& state) {
  for (const auto& thread : threads) program.thread([=] { thread(*state); });
}

// The values of a, b, c and d, as many as asked for, at the ends of all runs.
Results results(const Threads& threads, std::size_t count) {
  Results found;
  const Report report = explore([&](Program& program) {
    const auto state = std::make_shared<State>();
    add(program, threads, state);
    program.at_end([&found, state, count] {
      std::vector<int> values{state->a, state->b, state->c, state->d};
      values.resize(count);
      found.insert(values);
    });
  });
  EXPECT_EQ(report.fault, "");
  return found;
}

std::string fault(const Threads& threads, const std::optional<Weakening>& weakening = {}) {
  return explore([&](Program& program) { add(program, threads, std::make_shared<State>()); },
                 weakening)
      .fault;
}

template <auto write, auto read>
const Threads message_passing = {[](State& s) {
                                   s.x.store(1, relaxed);
                                   s.y.store(1, write);
                                 },
                                 [](State& s) {
                                   s.a = s.y.load(read);
                                   s.b = s.x.load(relaxed);
                                 }};

TEST(Litmus, AMessageIsPassedByReleaseAndAcquireOnly) {
  const Results ordered = {
      {0, 0},
      {0, 1},
      {1, 1}
  };
  const Results all = {
      {0, 0},
      {0, 1},
      {1, 0},
      {1, 1}
  };
  EXPECT_EQ(results((message_passing<release, acquire>), 2), ordered);
  EXPECT_EQ(results((message_passing<seq_cst, seq_cst>), 2), ordered);
  EXPECT_EQ(results((message_passing<relaxed, acquire>), 2), all);
  EXPECT_EQ(results((message_passing<release, relaxed>), 2), all);
}

TEST(Litmus, AMessageIsPassedByFences) {
  const auto writer = [](State& s) {
    s.x.store(1, relaxed);
    model_fence(release);
    s.y.store(1, relaxed);
  };
  const auto reader = [](State& s) {
    s.a = s.y.load(relaxed);
    model_fence(acquire);
    s.b = s.x.load(relaxed);
  };
  EXPECT_EQ(results(
                {
                    writer, reader
  },
                2),
            (Results{{0, 0}, {0, 1}, {1, 1}}));
}

template <auto write, auto read>
const Threads guarded_data = {[](State& s) {
                                s.data = 7;
                                s.x.store(1, write);
                              },
                              [](State& s) {
                                if (s.x.load(read) == 1) require(s.data == 7, "old data");
                              }};

TEST(Litmus, ADataRaceIsFound) {
  EXPECT_EQ(fault(guarded_data<release, acquire>), "");
  EXPECT_EQ(fault(guarded_data<relaxed, acquire>), "a data race: a read beside a write");
  EXPECT_EQ(fault(guarded_data<release, relaxed>), "a data race: a read beside a write");
}

TEST(Litmus, AWriteIsOrderedAfterEarlierReads) {
  const auto reader = [](State& s) {
    s.a = s.data;
    s.x.store(1, release);
  };
  const auto writer = [](State& s) {
    if (s.x.load(acquire) == 1) s.data = 1;
  };
  const auto careless = [](State& s) {
    if (s.x.load(relaxed) == 1) s.data = 1;
  };
  EXPECT_EQ(fault({reader, writer}), "");
  EXPECT_EQ(fault({reader, careless}), "a data race: a write beside another access");
}

template <auto write, auto read>
const Threads store_buffering = {[](State& s) {
                                   s.x.store(1, write);
                                   s.a = s.y.load(read);
                                 },
                                 [](State& s) {
                                   s.y.store(1, write);
                                   s.b = s.x.load(read);
                                 }};

TEST(Litmus, OnlySequentialConsistencyOrdersAStoreBeforeALoad) {
  const Results sequential = {
      {0, 1},
      {1, 0},
      {1, 1}
  };
  EXPECT_EQ(results((store_buffering<seq_cst, seq_cst>), 2), sequential);
  EXPECT_EQ(results((store_buffering<release, acquire>), 2).count({0, 0}), 1u);
  EXPECT_EQ(results((store_buffering<seq_cst, acquire>), 2).count({0, 0}), 1u);
  const auto fenced = [](State& s) {
    s.x.store(1, relaxed);
    model_fence(seq_cst);
    s.a = s.y.load(relaxed);
  };
  const auto other = [](State& s) {
    s.y.store(1, relaxed);
    model_fence(seq_cst);
    s.b = s.x.load(relaxed);
  };
  EXPECT_EQ(results({fenced, other}, 2), sequential);
}

// C++ allows {1, 1}; the model never reads from the future.
TEST(Litmus, LoadsAreNotBuffered) {
  const auto one = [](State& s) {
    s.a = s.x.load(relaxed);
    s.y.store(1, relaxed);
  };
  const auto other = [](State& s) {
    s.b = s.y.load(relaxed);
    s.x.store(1, relaxed);
  };
  EXPECT_EQ(results(
                {
                    one, other
  },
                2),
            (Results{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(Litmus, AllThreadsSeeTheWritesOfALocationInOneOrder) {
  const auto one = [](State& s) { s.x.store(1, relaxed); };
  const auto two = [](State& s) { s.x.store(2, relaxed); };
  const auto reader = [](State& s) {
    s.a = s.x.load(relaxed);
    s.b = s.x.load(relaxed);
  };
  const auto other_reader = [](State& s) {
    s.c = s.x.load(relaxed);
    s.d = s.x.load(relaxed);
  };
  const Results found = results({one, two, reader, other_reader}, 4);
  EXPECT_EQ(found.count({1, 2, 1, 2}), 1u);
  EXPECT_EQ(found.count({2, 1, 2, 1}), 1u);
  EXPECT_EQ(found.count({1, 2, 2, 1}), 0u);
  EXPECT_EQ(found.count({1, 0, 0, 0}), 0u) << "never back";
}

template <auto write, auto read>
const Threads independent_reads = {[](State& s) { s.x.store(1, write); },
                                   [](State& s) { s.y.store(1, write); },
                                   [](State& s) {
                                     s.a = s.x.load(read);
                                     s.b = s.y.load(read);
                                   },
                                   [](State& s) {
                                     s.c = s.y.load(read);
                                     s.d = s.x.load(read);
                                   }};

TEST(Litmus, OnlySequentialConsistencyOrdersWritesOfTwoLocations) {
  const std::vector<int> apart = {1, 0, 1, 0};
  EXPECT_EQ(results((independent_reads<release, acquire>), 4).count(apart), 1u);
  EXPECT_EQ(results((independent_reads<seq_cst, seq_cst>), 4).count(apart), 0u);
}

template <auto order>
const Threads two_writes_each = {[](State& s) {
                                   s.x.store(1, order);
                                   s.y.store(2, order);
                                 },
                                 [](State& s) {
                                   s.y.store(1, order);
                                   s.x.store(2, order);
                                 }};

// The first write of each thread can be the last of its location in modification order.
TEST(Litmus, AWriteIsPlacedBeforeEarlierStepsOfOthers) {
  const auto last_values = [](const Threads& threads) {
    Results found;
    explore([&](Program& program) {
      const auto state = std::make_shared<State>();
      add(program, threads, state);
      program.at_end(
          [&found, state] { found.insert({state->x.load(relaxed), state->y.load(relaxed)}); });
    });
    return found;
  };
  EXPECT_EQ(last_values(two_writes_each<relaxed>), (Results{
                                                       {1, 1},
                                                       {1, 2},
                                                       {2, 1},
                                                       {2, 2}
  }));
  EXPECT_EQ(last_values(two_writes_each<seq_cst>), (Results{
                                                       {1, 2},
                                                       {2, 1},
                                                       {2, 2}
  }));
}

TEST(Litmus, ReadModifyWritesLoseNoChange) {
  const auto adder = [](State& s) { s.x.fetch_add(1, relaxed); };
  const auto twice = [](State& s) {
    s.x.fetch_add(1, relaxed);
    s.x.fetch_add(1, relaxed);
  };
  Results found;
  explore([&](Program& program) {
    const auto state = std::make_shared<State>();
    add(program, {adder, adder, twice}, state);
    program.at_end([&found, state] { found.insert({state->x.load(relaxed)}); });
  });
  EXPECT_EQ(found, (Results{{4}}));
}

TEST(Litmus, AReleaseSequenceGoesThroughReadModifyWritesOnly) {
  const auto writer = [](State& s) {
    s.data = 7;
    s.x.store(1, release);
  };
  const auto adder = [](State& s) {
    if (s.x.fetch_or(2, relaxed) == 0) s.x.fetch_add(0, acq_rel);
  };
  const auto reader = [](State& s) {
    if (s.x.load(acquire) == 3) require(s.data == 7, "old data");
  };
  EXPECT_EQ(fault({writer, adder, reader}), "");
  const auto storer = [](State& s) {
    if (s.x.load(relaxed) == 1) s.x.store(3, relaxed);
  };
  EXPECT_EQ(fault({writer, storer, reader}), "a data race: a read beside a write");
  const auto writes_again = [](State& s) {
    s.data = 7;
    s.x.store(1, release);
    s.x.store(3, relaxed);  // ends it, since C++20 also in the same thread
  };
  EXPECT_EQ(fault({writes_again, reader}), "a data race: a read beside a write");
}

TEST(Litmus, KnowledgeIsPassedOn) {
  const auto writer = [](State& s) {
    s.data = 7;
    s.x.store(1, release);
  };
  const auto forwarder = [](State& s) {
    if (s.x.load(acquire) == 1) s.y.store(1, release);
  };
  const auto reader = [](State& s) {
    if (s.y.load(acquire) == 1) require(s.data == 7, "old data");
  };
  EXPECT_EQ(fault({writer, forwarder, reader}), "");
}

// --- the explorer --------------------------------------------------------------------------------

TEST(Explorer, CompletesOneRunOfThoseThatDifferInStepsThatCommute) {
  const auto x = [](State& s) { s.x.store(1, relaxed); };
  const auto y = [](State& s) { s.y.store(1, relaxed); };
  std::uint64_t completed = 0;
  explore([&](Program& program) {
    add(program, {x, y}, std::make_shared<State>());
    program.at_end([&] { ++completed; });
  });
  EXPECT_EQ(completed, 1u);
}

TEST(Explorer, FindsThreadsThatAllWait) {
  const auto program = [](bool rings) {
    return explore([=](Program& made) {
      const auto bell = std::make_shared<Bell>();
      made.thread([=] { bell->wait(); });
      if (rings) made.thread([=] { bell->ring(); });
    });
  };
  EXPECT_EQ(program(true).fault, "");
  EXPECT_EQ(program(false).fault, "a lost wake-up: every thread waits");
}

TEST(Explorer, FindsAThreadThatDoesNotEnd) {
  EXPECT_EQ(fault({[](State& s) {
              while (s.x.load(relaxed) == 0) {
              }
            }}),
            "a thread does not end");
}

TEST(Explorer, WeakensOneSite) {
  const Threads& threads = guarded_data<release, acquire>;
  const Report strong =
      explore([&](Program& program) { add(program, threads, std::make_shared<State>()); });
  ASSERT_EQ(strong.sites.size(), 2u);
  for (const Site& site : strong.sites) {
    EXPECT_EQ(fault(threads, Weakening{.site = site, .order = relaxed}),
              "a data race: a read beside a write")
        << site.name();
  }
}

}  // namespace
}  // namespace pawl::orders
