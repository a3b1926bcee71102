// SPDX-License-Identifier: Apache-2.0
#include "net/server/remedy.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace pawl {
namespace {

TEST(Remedy, IsASentenceForEachErrorThatAnOperatorCanMend) {
  constexpr struct {
    int error;
    const char* part;
  } cases[] = {
      {ENOENT,  "parent directory"},
      {ENOTDIR, "not a file"      },
      {EISDIR,  "not a file"      },
      {EACCES,  "owns"            },
      {EACCES,  "`--user"         },
      {EACCES,  "fsGroup"         },
      {EPERM,   "owns"            },
      {EACCES,  "chown"           },
      {EROFS,   "writable"        },
      {EROFS,   "a volume"        },
      {ENOSPC,  "Free space"      },
      {EDQUOT,  "Free space"      },
      {EMFILE,  "ulimit -n"       },
      {ENFILE,  "fs.file-max"     },
      {EIO,     "dmesg"           },
  };
  for (const auto& c : cases) {
    const std::string text = remedy_for(c.error);
    EXPECT_TRUE(text.starts_with(" ") && text.ends_with(".")) << text;
    EXPECT_TRUE(text.contains(c.part)) << text;
  }
  EXPECT_EQ(remedy_for(EINVAL), "");
  EXPECT_EQ(remedy_for(0), "");
}

TEST(Remedy, NamesTheUserAndTheGroupOfTheProcess) {
  const std::string both = fmt::format("user {} and group {}.", geteuid(), getegid());
  EXPECT_TRUE(remedy_for(EACCES).contains(both)) << remedy_for(EACCES);
}

TEST(Remedy, NamesTheLimitOfOpenFiles) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  EXPECT_TRUE(remedy_for(EMFILE).contains(" " + std::to_string(files.rlim_cur) + " files"));
}

}  // namespace
}  // namespace pawl
