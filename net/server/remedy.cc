// SPDX-License-Identifier: Apache-2.0
#include "net/server/remedy.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace pawl {

std::string remedy_for(int error) {
  switch (error) {
    case ENOENT:
      return " Make its parent directory first, or name another directory with --data.";
    case ENOTDIR:
    case EISDIR:
      return " Name a directory with --data, not a file.";
    case EACCES:
    case EPERM:
      return fmt::format(
          " This process is of user {} and group {}. Run pawl as the user that owns the directory, "
          "or name another one with --data. In a container, run it as that user (`--user "
          "UID:GID`) or give the volume to this one (`chown {}:{}`); in Kubernetes, set fsGroup "
          "to {}.",
          geteuid(), getegid(), geteuid(), getegid(), getegid());
    case EROFS:
      return " Mount the file system writable, in a container a volume at this directory, or name "
             "another directory with --data.";
    case ENOSPC:
    case EDQUOT:
      return " Free space on that disk, or name a directory on another one with --data.";
    case EMFILE: {
      rlimit files{};
      getrlimit(RLIMIT_NOFILE, &files);
      return fmt::format(
          " This process may open {} files. Raise the limit: `ulimit -n 65536`, or "
          "LimitNOFILE=65536 in the systemd unit.",
          files.rlim_cur);
    }
    case ENFILE:
      return " The machine has no file handles left. Raise the sysctl fs.file-max.";
    case EIO:
      return " The disk failed: look at `dmesg`, and check the disk before the next start.";
    default:
      return {};
  }
}

}  // namespace pawl
