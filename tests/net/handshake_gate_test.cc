// SPDX-License-Identifier: Apache-2.0
#include "net/connection/handshake_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"
#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

using Verdict = HandshakeGate::Verdict;

TEST(HandshakeGate, AdmitsTwoATurn) {
  HandshakeGate gate;
  gate.begin_turn(Instant{10'000});
  EXPECT_EQ(gate.admit(1), Verdict::now);
  EXPECT_EQ(gate.admit(2), Verdict::now);
  EXPECT_EQ(gate.admit(3), Verdict::next_turn);
  EXPECT_FALSE(gate.begin_turn(Instant{10'001}));
  EXPECT_EQ(gate.admit(3), Verdict::now);
}

TEST(HandshakeGate, AdmitsAnAddressSoOftenASecondAndOthersBesideIt) {
  HandshakeGate gate;
  Instant now{10'000};
  gate.begin_turn(now);
  for (unsigned i = 0; i < HandshakeGate::address_rate_max; ++i) {
    EXPECT_EQ(gate.admit(1), Verdict::now) << i;
    gate.begin_turn(now);
  }
  EXPECT_EQ(gate.admit(1), Verdict::next_second);
  EXPECT_EQ(gate.admit(2), Verdict::now);
  EXPECT_FALSE(gate.begin_turn(now + Duration{999}));
  EXPECT_EQ(gate.admit(1), Verdict::next_second);
  EXPECT_TRUE(gate.begin_turn(now + Duration{1000}));
  EXPECT_EQ(gate.admit(1), Verdict::now);
}

class PacedHandshakesTest : public LiveServerTest {};

// More handshakes at once than a second admits: all are served in the end, also those in pieces.
TEST_F(PacedHandshakesTest, AllAreServed) {
  const CertificateFiles files = make_certificate(directory_, "first");
  options_.tls_certificate = files.certificate;
  options_.tls_key = files.key;
  options_.shards = 1;
  start();
  std::vector<int> refused(8);
  std::vector<std::thread> threads;
  for (int& count : refused) {
    threads.emplace_back([this, &count] {
      for (int i = 0; i < 16; ++i) {
        TlsPeer peer(connect_http());
        count += !peer.connected();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : refused) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace pawl
