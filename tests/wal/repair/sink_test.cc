// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/sink.h"

#include <gtest/gtest.h>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

struct Purges final : QuietSink {
  Seq below = 0;
  void purge(const PurgeRecord& record) override { below = record.below; }
};

TEST(RecordSinkThatIsQuiet, GetsOnlyTheKindsThatASubclassOverrides) {
  records_test::Bytes bytes = records_test::one_send();
  bytes.add(encode_purge(bytes.at(), {QueueId{3}, 10, Instant{1000}}, records_test::stream));
  Purges purges;
  ASSERT_TRUE(bytes.decode(purges));
  EXPECT_EQ(purges.below, 10u);
  QuietSink quiet;
  EXPECT_TRUE(bytes.decode(quiet));
}

}  // namespace
}  // namespace pawl
