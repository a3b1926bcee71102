// SPDX-License-Identifier: Apache-2.0
#include "net/server/process_limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace pawl {
namespace {

// The limit of address space during its lifetime.
class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(ProcessLimits, LeaveDescriptorsForConnectionsAndEnoughForEachLog) {
  constexpr struct {
    std::uint64_t files_max;
    unsigned shards;
    std::uint32_t each;
  } cases[] = {
      {0,          1,  8       },
      {64,         1,  8       },
      {1024,       1,  236     }, // a quarter, less 16 and 4 for each shard
      {1024,       4,  56      },
      {65536,      16, 1019    },
      {UINT64_MAX, 1,  1u << 20},
  };
  for (const auto& c : cases)
    EXPECT_EQ(log_descriptors(c.files_max, c.shards), c.each) << c.files_max;
}

// The number of descriptors that the kernel's table has room for.
std::uint64_t table_size() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("FDSize:")) return std::stoull(line.substr(sizeof "FDSize:"));
  return 0;
}

TEST(ProcessLimits, TheDescriptorTableNeedNotGrow) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  reserve_descriptors(files.rlim_cur);
  EXPECT_GE(table_size(), std::min<std::uint64_t>(files.rlim_cur, 1 << 16));
  const int next = ::open("/", O_PATH | O_CLOEXEC);
  EXPECT_LT(next, 1000) << "the highest descriptor is free again";
  ::close(next);
}

TEST(ProcessLimits, NeedAddressSpaceForEachShard) {
  EXPECT_EQ(address_space_min(1), 192u << 20);
  EXPECT_EQ(address_space_min(64), (128u + 64 * 64) * std::uint64_t{1 << 20});
}

// The limits are far above those of a server, because a sanitizer needs much address space.
TEST(ProcessLimits, NameTheValueTheNeedAndTheRemedy) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer needs more address space than this limit";
#endif
  constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;
  const AddressSpace limit(100 * tebibyte);
  const auto few = check_process_limits(1, 200 * tebibyte);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error(),
            "--memory is 209715200 MiB, and a limit of address space of 104857600 MiB leaves "
            "104857408 MiB for it. Raise the limit (`ulimit -v unlimited`, LimitAS=infinity), or "
            "lower --memory");
  const auto many = check_process_limits(2'000'000, 0);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error(),
            "the limit of address space is 104857600 MiB, and 2000000 shards need 128000128 MiB. "
            "Raise it: `ulimit -v unlimited`, or LimitAS=infinity in the systemd unit");
  EXPECT_TRUE(check_process_limits(2, 1 << 30));
}

TEST(ProcessLimits, LeaveRoomForConnectionsAndRingsBesideTheMessages) {
  constexpr std::uint64_t mib = 1 << 20;
  constexpr struct {
    std::uint64_t usable;
    unsigned shards;
    std::uint64_t messages, connections;
  } cases[] = {
      {24'000 * mib, 2, 12'000 * mib, 64 * mib}, // half, as long as all fits
      {1024 * mib,   2, 512 * mib,    64 * mib},
      {300 * mib,    2, 147 * mib,    25 * mib},
      {300 * mib,    4, 110 * mib,    16 * mib},
      {64 * mib,     2, 8 * mib,      16 * mib}, // nothing fits: an eighth
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.usable / mib);
    const MemoryShares shares = memory_shares(c.usable, c.shards);
    EXPECT_EQ(shares.messages / mib, c.messages / mib);
    EXPECT_EQ(shares.connections, c.connections);
    if (c.usable > 64 * mib) {
      EXPECT_LE(memory_needed(shares.messages, c.usable, c.shards), c.usable);
    }
  }
  EXPECT_GT(memory_needed(1024 * mib, 300 * mib, 2), 300 * mib);
}

}  // namespace
}  // namespace pawl
