// SPDX-License-Identifier: Apache-2.0
// AUTHENTICATE: the proof, and the behaviour of a session before it.
#include "proto/auth/challenge.h"
#include "proto/auth/keys.h"

#include <gtest/gtest.h>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

std::string hex(const Sha256& digest) {
  std::string text;
  append_hex(text, digest);
  return text;
}

// The expected value is the output of
// printf 'pawl AUTHENTICATE 1\n%s%s' "$(32 bytes of c)" AKID | openssl dgst -sha256 -hmac secret
TEST(Challenge, ProofIsTheHmacThatTheProtocolSays) {
  Challenge c;
  c.fill('c');
  EXPECT_EQ(hex(prove("secret", "AKID", c)),
            "e3ca77e7883a43f32e7a90afb9143fb10aa96e9fd7aac907c1d186180f16f0e2");
}

TEST(Challenge, IsAnotherOneEachTime) { EXPECT_NE(challenge(), challenge()); }

class KeyedSession : public BinarySessionTest {
 protected:
  KeyedSession() {
    auto ring = std::make_shared<Keyring>();
    EXPECT_EQ(ring->add({"ALICE", "alices-secret", "111111111111"}), KeyFault::none);
    EXPECT_EQ(ring->add({"BOB", "bobs-secret", "222222222222"}), KeyFault::none);
    config_.keys = ring;
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{8};
    queue->account = "111111111111";
    queue->name = "hers";
    directory_.put(queue);
  }
  // Sends HELLO; returns the challenge.
  Challenge greet() {
    EXPECT_EQ(begin(BinaryOp::hello, hello(binary_major, auth_key)), Next::respond);
    const Answer got = answer();
    EXPECT_EQ(got.status(), Status::ok);
    Challenge c{};
    EXPECT_GE(got.payload.size(), 2 + c.size());
    const std::string_view tail =
        std::string_view(got.payload).substr(got.payload.size() - c.size());
    std::copy(tail.begin(), tail.end(), c.begin());
    return c;
  }
  static std::string proof(std::string_view id, std::string_view secret, const Challenge& c) {
    std::string payload;
    put_short(payload, id);
    const Sha256 made = prove(secret, id, c);
    payload.append(made.begin(), made.end());
    return payload;
  }
};

TEST_F(KeyedSession, WantsAKeyAndNothingElseBetweenHelloAndTheProof) {
  EXPECT_EQ(begin(BinaryOp::hello, hello()), Next::close);
  EXPECT_EQ(answer().status(), Status::unauthorized);
  for (const BinaryOp op : {BinaryOp::ping, BinaryOp::hello, BinaryOp::open_queue}) {
    session_ = BinarySession();
    greet();
    EXPECT_FALSE(session_.greeted());
    EXPECT_EQ(begin(op, ""), Next::close);
    EXPECT_EQ(answer().status(), Status::out_of_order);
  }
  session_ = BinarySession();
  const Challenge c = greet();
  EXPECT_EQ(begin(BinaryOp::authenticate, proof("ALICE", "alices-secret", c)), Next::respond);
  EXPECT_EQ(answer().status(), Status::ok);
  EXPECT_TRUE(session_.greeted());
  EXPECT_EQ(begin(BinaryOp::authenticate, proof("ALICE", "alices-secret", c)), Next::close);
  EXPECT_EQ(answer().status(), Status::out_of_order);
}

TEST_F(KeyedSession, IsClosedByEveryProofThatIsNotRight) {
  struct Case {
    const char* name;
    std::string (*make)(const Challenge&);
    Status status;
  };
  const Case cases[] = {
      {"another secret", [](const Challenge& c) { return proof("ALICE", "bobs-secret", c); },
       Status::unauthorized                                                                                               },
      {"an unknown key", [](const Challenge& c) { return proof("CAROL", "alices-secret", c); },
       Status::unauthorized                                                                                               },
      {"no id",          [](const Challenge& c) { return proof("", "alices-secret", c); },
       Status::unauthorized                                                                                               },
      {"a long id",
       [](const Challenge& c) { return proof(std::string(60'000, 'x'), "alices-secret", c); },
       Status::unauthorized                                                                                               },
      {"no secret",      [](const Challenge& c) { return proof("CAROL", "", c); },                    Status::unauthorized},
      {"an old proof",   [](const Challenge&) { return proof("ALICE", "alices-secret", {}); },
       Status::unauthorized                                                                                               },
      {"half a proof",
       [](const Challenge& c) { return proof("ALICE", "alices-secret", c).substr(0, 30); },
       Status::bad_frame                                                                                                  },
      {"and more",       [](const Challenge& c) { return proof("ALICE", "alices-secret", c) + "x"; },
       Status::bad_frame                                                                                                  },
      {"nothing",        [](const Challenge&) { return std::string(); },                              Status::bad_frame   },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    session_ = BinarySession();
    EXPECT_EQ(begin(BinaryOp::authenticate, c.make(greet())), Next::close);
    EXPECT_EQ(answer().status(), c.status);
    EXPECT_FALSE(session_.greeted());
  }
}

TEST_F(KeyedSession, SeesItsAccountAlone) {
  const struct {
    const char *id, *secret, *account;
    Status opens, opens_by_account;
  } cases[] = {
      {"ALICE", "alices-secret", "111111111111", Status::ok,            Status::ok           },
      {"BOB",   "bobs-secret",   "222222222222", Status::no_such_queue, Status::no_such_queue},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.id);
    session_ = BinarySession();
    ASSERT_EQ(begin(BinaryOp::authenticate, proof(c.id, c.secret, greet())), Next::respond);
    EXPECT_EQ(session_.account(), c.account);
    EXPECT_EQ(refused(BinaryOp::open_queue, open("hers")), c.opens);
    std::string by_account;
    put_short(by_account, "111111111111");
    put_short(by_account, "hers");
    EXPECT_EQ(refused(BinaryOp::open_queue, by_account), c.opens_by_account);
    EXPECT_EQ(refused(BinaryOp::open_queue, open("q")), Status::no_such_queue)
        << "of no key's account";
    ASSERT_EQ(begin(BinaryOp::create_queue, create("new")), Next::route);
    EXPECT_EQ(call_.request().spec->account, c.account);
  }
}

}  // namespace
}  // namespace pawl
