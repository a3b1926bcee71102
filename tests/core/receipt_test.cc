// SPDX-License-Identifier: Apache-2.0
#include "core/queue/receipt.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>

#include "tests/core/secret.h"
#include "tests/sim/random.h"

namespace pawl {
namespace {

const Secret secret = test::test_secret();
const SipKey key = test::test_receipt_key();

TEST(Receipt, ComesBackAsItWasSealed) {
  const Receipt cases[] = {
      {ShardId{0},  QueueId{1},          1,       0         },
      {ShardId{63}, QueueId{0xFFFFFFFF}, seq_max, 0xFFFFFFFF},
      {ShardId{7},  QueueId{42},         1 << 20, 77        },
  };
  for (const Receipt& receipt : cases) {
    const Result<Receipt> opened = open(key, seal(key, receipt));
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(*opened, receipt);
  }
}

TEST(MessageIds, LeadBackToTheirNumbers) {
  sim::Random random(20261130);
  for (int i = 0; i < 2'000; ++i) {
    const QueueId queue{static_cast<std::uint32_t>(random.next() | 1)};
    const Seq seq = i < 10 ? static_cast<Seq>(i) + 1 : 1 + random.below(seq_newest_max);
    const MessageId id = message_id(secret, queue, seq);
    ASSERT_EQ(seq_of_id(secret, queue, id), seq);
    ASSERT_EQ(seq_of_id(secret, QueueId{raw(queue) ^ 2}, id), 0u);
  }
  EXPECT_EQ(seq_of_id(secret, QueueId{1}, message_id(secret, QueueId{1}, seq_newest_max)),
            seq_newest_max);
  EXPECT_EQ(seq_of_id(secret, QueueId{1}, MessageId{}), 0u);
}

TEST(MessageIds, OfAnotherServerOrWithAnyBitFlippedLeadNowhere) {
  Secret other = secret;
  other[40] ^= 1;
  const MessageId id = message_id(secret, QueueId{9}, 77);
  EXPECT_EQ(seq_of_id(other, QueueId{9}, id), 0u);
  for (int bit = 0; bit < 128; ++bit) {
    MessageId flipped = id;
    (bit < 64 ? flipped.low : flipped.high) ^= std::uint64_t{1} << (bit % 64);
    EXPECT_EQ(seq_of_id(secret, QueueId{9}, flipped), 0u) << "bit " << bit;
  }
}

TEST(Receipt, WithAnyBitFlippedIsRefused) {
  const ReceiptHandle handle = seal(key, {ShardId{3}, QueueId{9}, 123456, 99});
  for (std::size_t bit = 0; bit < receipt_bytes * 8; ++bit) {
    ReceiptHandle flipped = handle;
    flipped[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    const Result<Receipt> opened = open(key, flipped);
    ASSERT_FALSE(opened.has_value()) << "bit " << bit;
    EXPECT_EQ(opened.error().code, Errc::receipt_invalid);
  }
}

TEST(Receipt, GuessedIsRefused) {
  sim::Random random(20251120);
  ReceiptHandle handle{};
  for (int i = 0; i < 1'000'000; ++i) {
    for (std::size_t at = 0; at < receipt_bytes; at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(&handle[at], &word, 8);
    }
    if (i % 2 == 0) handle[0] = 2;  // the valid version, so that the MAC alone decides
    ASSERT_FALSE(open(key, handle).has_value());
  }
}

TEST(Receipt, OfAnotherServerIsRefused) {
  SipKey other = key;
  other[15] ^= 1;
  EXPECT_FALSE(open(other, seal(key, {ShardId{0}, QueueId{1}, 1, 1})).has_value());
}

TEST(Receipt, DiffersWithEachPartOfIt) {
  std::set<ReceiptHandle> handles;
  for (const Receipt& receipt : {
           Receipt{ShardId{0}, QueueId{1}, 1, 1},
           Receipt{ShardId{1}, QueueId{1}, 1, 1},
           Receipt{ShardId{0}, QueueId{2}, 1, 1},
           Receipt{ShardId{0}, QueueId{1}, 2, 1},
           Receipt{ShardId{0}, QueueId{1}, 1, 2}
  }) {
    handles.insert(seal(key, receipt));
  }
  EXPECT_EQ(handles.size(), 5u);
}

// A handle of a version 1 release: its MAC is a keyed XXH3-64 of the first 16 bytes.
constexpr ReceiptHandle of_version_1 = {0x01, 0x07, 0x2a, 0x00, 0x00, 0x00, 0x40, 0xe2,
                                        0x01, 0x00, 0x00, 0x00, 0x4d, 0x00, 0x00, 0x00,
                                        0x74, 0xa0, 0x19, 0xdf, 0xba, 0xcb, 0x6f, 0xd3};

TEST(Receipt, OfVersionOneIsReadWithTheSecretOfIds) {
  ASSERT_TRUE(is_old(of_version_1));
  const Result<Receipt> opened = open_old(secret, of_version_1);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(*opened, (Receipt{ShardId{7}, QueueId{42}, 123456, 77}));
  EXPECT_FALSE(open(key, of_version_1).has_value());
  ReceiptHandle flipped = of_version_1;
  flipped[6] ^= 1;
  EXPECT_FALSE(open_old(secret, flipped).has_value());
  EXPECT_FALSE(open_old(secret, seal(key, {ShardId{7}, QueueId{42}, 123456, 77})).has_value());
}

TEST(MessageId, IsAVersionFourUuidAndStable) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::uint32_t queue = 1; queue <= 100; ++queue) {
    for (Seq seq = 1; seq <= 1000; ++seq) {
      const MessageId id = message_id(secret, QueueId{queue}, seq);
      ASSERT_EQ((id.high >> 12) & 0xF, 4u);
      ASSERT_EQ(id.low >> 62, 2u);
      ASSERT_EQ(id, message_id(secret, QueueId{queue}, seq));
      ASSERT_TRUE(seen.insert({id.high, id.low}).second);
    }
  }
}

TEST(MessageId, DependsOnTheSecret) {
  Secret other = secret;
  for (std::size_t i = 0; i < other.size(); i += 8) other[i] ^= static_cast<std::uint8_t>(i);
  EXPECT_NE(message_id(secret, QueueId{1}, 1), message_id(other, QueueId{1}, 1));
}

TEST(MessageId, IsShownAsAUuid) {
  const auto text = [](const MessageId& id) {
    const std::array<char, 36> chars = uuid_text(id);
    return std::string(chars.data(), chars.size());
  };
  EXPECT_EQ(text({0x0123456789abcdef, 0xfedcba9876543210}), "01234567-89ab-cdef-fedc-ba9876543210");
  EXPECT_EQ(text({}), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(text({1, 2}), "00000000-0000-0001-0000-000000000002");
}

}  // namespace
}  // namespace pawl
