// SPDX-License-Identifier: Apache-2.0
// The file PAWL: written values are read back, the newest whole copy counts, and other files and
// versions are refused with a message.
#include "wal/data_identity.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace pawl {
namespace {

using File = std::array<std::byte, DataIdentity::file_bytes>;

DataIdentity some_identity() {
  DataIdentity identity;
  identity.shards = 3;
  identity.segment_bytes = 64 << 20;
  identity.data_id = 0x0123456789abcdef;
  for (std::size_t i = 0; i < identity.secret.size(); ++i)
    identity.secret[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < identity.receipt_key.size(); ++i)
    identity.receipt_key[i] = static_cast<std::uint8_t>(200 + i);
  identity.starts = 41;
  identity.made = 0b101;
  identity.upgraded = Instant{1'700'000'000'000};
  identity.queue_ids_from = 77;
  identity.clock = {
      {1, 2, 3},
      -5'000'000, 7'000'000, Instant{1'700'000'001'000}
  };
  return identity;
}

void put(File& file, DataIdentity& identity) {
  std::array<std::byte, block_bytes> block;
  const std::uint64_t offset = write_identity(block, identity);
  std::memcpy(file.data() + offset, block.data(), block.size());
}

TEST(DataIdentity, ComesBackAsItWasWritten) {
  File file{};
  DataIdentity written = some_identity();
  put(file, written);
  const auto read = read_identity(file, "PAWL");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->version, DataIdentity::version_now);
  EXPECT_EQ(read->shards, 3u);
  EXPECT_EQ(read->segment_bytes, written.segment_bytes);
  EXPECT_EQ(read->data_id, written.data_id);
  EXPECT_EQ(read->secret, written.secret);
  EXPECT_EQ(read->receipt_key, written.receipt_key);
  EXPECT_EQ(read->starts, 41u);
  EXPECT_TRUE(read->is_made(0) && !read->is_made(1) && read->is_made(2));
  EXPECT_EQ(read->upgraded, written.upgraded);
  EXPECT_EQ(read->queue_ids_from, 77u);
  EXPECT_EQ(read->clock.boot_id, written.clock.boot_id);
  EXPECT_EQ(read->clock.offset_us, -5'000'000);
  EXPECT_EQ(read->clock.shift_us, 7'000'000);
  EXPECT_EQ(read->clock.engine, written.clock.engine);
}

TEST(DataIdentity, TheNewestWholeCopyCounts) {
  File file{};
  DataIdentity identity = some_identity();
  put(file, identity);
  identity.starts = 42;
  put(file, identity);
  EXPECT_EQ(read_identity(file, "PAWL")->starts, 42u);
  for (std::size_t bit = 0; bit < 8 * block_bytes; bit += 7) {
    File damaged = file;
    damaged[identity.generation % 2 * block_bytes + bit / 8] ^= std::byte(1u << bit % 8);
    const auto read = read_identity(damaged, "PAWL");
    ASSERT_TRUE(read) << bit << ": " << read.error();
    EXPECT_EQ(read->starts, 41u) << bit;
  }
}

TEST(DataIdentity, DamageToBothCopiesIsASentence) {
  File file{};
  DataIdentity identity = some_identity();
  put(file, identity);
  put(file, identity);
  for (const std::size_t copy : {0, 1}) file[copy * block_bytes + 300] ^= std::byte{1};
  const auto read = read_identity(file, "dir/PAWL");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(),
            "dir/PAWL is damaged (no copy in it has the right checksum); restore it from a copy");
}

TEST(DataIdentity, AnotherFileIsNamedAsSuch) {
  const File file{};
  const auto read = read_identity(std::span(file).first(100), "dir/PAWL");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().find("is not the identity of a pawl data directory (100 bytes read)"),
            std::string::npos)
      << read.error();
}

TEST(DataIdentity, ANewerVersionIsRefusedByBothNumbers) {
  File file{};
  DataIdentity identity = some_identity();
  put(file, identity);
  std::byte* const block = file.data() + identity.generation % 2 * block_bytes;
  const std::uint32_t newer = 3;
  std::memcpy(block + 8, &newer, sizeof newer);
  std::memset(block + 224, 0, 8);
  const std::uint64_t checksum = hash_bytes({block, block_bytes}, 0);
  std::memcpy(block + 224, &checksum, sizeof checksum);
  const auto read = read_identity(file, "dir/PAWL");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().find("has format version 3, and this pawl knows up to 2"),
            std::string::npos)
      << read.error();
}

TEST(DataIdentity, OfVersionOneIsReadWithWhatItHas) {
  std::array<std::byte, block_bytes> file{};
  DataIdentity identity = some_identity();
  write_identity(file, identity);
  const std::uint32_t version = 1;
  std::memcpy(file.data() + 8, &version, sizeof version);
  std::memset(file.data() + 224, 0, file.size() - 224);
  const std::uint64_t checksum = hash_bytes(std::span(file).first(224), 0);
  std::memcpy(file.data() + 224, &checksum, sizeof checksum);
  const auto read = read_identity(file, "PAWL");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->version, 1u);
  EXPECT_EQ(read->secret, identity.secret);
  EXPECT_EQ(read->starts, 0u);
  EXPECT_EQ(read->made, 0u);
  DataIdentity next = *read;
  EXPECT_EQ(write_identity(file, next), block_bytes)
      << "the old copy is whole until the new one is";
}

TEST(DataIdentity, StreamsDifferAndStay) {
  const DataIdentity identity = some_identity();
  EXPECT_NE(identity.stream_of(0), identity.stream_of(1));
  EXPECT_EQ(identity.stream_of(0), some_identity().stream_of(0));
}

}  // namespace
}  // namespace pawl
