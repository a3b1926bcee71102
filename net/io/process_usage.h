// SPDX-License-Identifier: Apache-2.0
// ProcessUsage: processor time, memory and open files of this process.
//
// It keeps files of /proc open, because a process that gives up access to files (net/server/
// landlock.h) cannot open them later.
//
// Units:  in the names. Numbers that cannot be read are 0.
// Owner:  the server; any thread reads.
// Source: getrusage(2), proc(5).
#pragma once

#include <cstdint>
#include <mutex>

namespace pawl {

class ProcessUsage {
 public:
  ProcessUsage();
  ~ProcessUsage();
  ProcessUsage(const ProcessUsage&) = delete;
  ProcessUsage& operator=(const ProcessUsage&) = delete;

  struct Numbers {
    std::uint64_t cpu_us = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t open_files = 0, open_files_max = 0;
    std::int64_t started_s = 0;  // since 1970, by the wall clock at the start
  };
  Numbers read() const;

 private:
  mutable std::mutex mutex_;  // guards the place in the list of open files
  int memory_fd_ = -1, files_fd_ = -1;
  std::int64_t started_s_ = 0;
};

// Space of the file system of an open file; 0 and 0 if it is unknown.
struct DiskSpace {
  std::uint64_t free_bytes = 0;  // for this process
  std::uint64_t size_bytes = 0;
};
DiskSpace disk_space(int fd);

}  // namespace pawl
