// SPDX-License-Identifier: Apache-2.0
#include "net/engine/mesh.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pawl {
namespace {

MeshMessage numbered(std::uint64_t n) {
  MeshMessage message{.kind = MeshMessage::Kind::connection};
  message.number = n;
  return message;
}

constexpr ShardId zero{0}, one{1};

TEST(Mesh, NothingIsSeenBeforePublish) {
  Mesh mesh(2);
  MeshPort a(mesh, zero), b(mesh, one);
  a.send(one, numbered(7));
  EXPECT_EQ(b.drain(10, [](ShardId, const MeshMessage&) { FAIL(); }), 0u);
  a.publish();
  std::uint64_t seen = 0;
  EXPECT_EQ(b.drain(10,
                    [&](ShardId from, const MeshMessage& m) {
                      EXPECT_EQ(from, zero);
                      seen = m.number;
                    }),
            1u);
  EXPECT_EQ(seen, 7u);
}

TEST(Mesh, WhatDoesNotFitIntoTheRingComesLaterAndInOrder) {
  Mesh mesh(2);
  MeshPort a(mesh, zero), b(mesh, one);
  constexpr std::uint64_t messages = 5 * Mesh::ring_slots + 3;
  for (std::uint64_t i = 0; i < messages; ++i) a.send(one, numbered(i));
  std::uint64_t next = 0;
  for (int round = 0; round < 100 && next < messages; ++round) {
    a.publish();
    b.drain(17, [&](ShardId, const MeshMessage& m) { EXPECT_EQ(m.number, next++); });
  }
  EXPECT_EQ(next, messages);
  EXPECT_FALSE(a.backlog());
}

TEST(Mesh, OnlyASleeperIsNamedToBeWokenAndOnlyOnce) {
  Mesh mesh(2);
  MeshPort a(mesh, zero), b(mesh, one);
  a.send(one, numbered(1));
  EXPECT_EQ(a.publish(), 0u) << "awake";
  EXPECT_FALSE(b.try_sleep()) << "something is there";
  b.drain(10, [](ShardId, const MeshMessage&) {});
  EXPECT_TRUE(b.try_sleep());
  a.send(one, numbered(2));
  EXPECT_EQ(a.publish(), 2u);
  a.send(one, numbered(3));
  EXPECT_EQ(a.publish(), 0u) << "notified already";
  b.awake();
  EXPECT_EQ(b.drain(10, [](ShardId, const MeshMessage&) {}), 2u);
}

// Two threads sleep whenever they may, on a word in place of the ring that MSG_RING would wake. A
// lost wake-up hangs until the test runner's time limit; TSan finds races.
TEST(Mesh, NoWakeUpIsLostBetweenThreadsThatSleep) {
  constexpr std::uint64_t rounds = 20'000;
  Mesh mesh(2);
  std::atomic<std::uint32_t> bell[2] = {0, 0};
  const auto body = [&](ShardId self, ShardId other) {
    MeshPort port(mesh, self);
    std::atomic<std::uint32_t>& mine = bell[raw(self)];
    std::atomic<std::uint32_t>& theirs = bell[raw(other)];
    std::uint64_t sent = 0, received = 0;
    while (sent < rounds || received < rounds) {
      if (sent < rounds && sent <= received + 3) port.send(other, numbered(sent++));
      if (port.publish() != 0) {
        theirs.fetch_add(1);
        theirs.notify_one();
      }
      const std::uint32_t heard = mine.load();
      received += port.drain(64, [&](ShardId, const MeshMessage&) {});
      const bool stuck = sent == rounds || sent > received + 3;
      if (received < rounds && stuck && port.try_sleep()) {
        mine.wait(heard);
        port.awake();
      }
    }
    while (port.backlog()) port.publish();
    theirs.fetch_add(1);
    theirs.notify_one();
  };
  std::thread other(body, one, zero);
  body(zero, one);
  other.join();
}

}  // namespace
}  // namespace pawl
