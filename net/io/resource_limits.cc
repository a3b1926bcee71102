// SPDX-License-Identifier: Apache-2.0
#include "net/io/resource_limits.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "net/io/system_file.h"

namespace pawl {
namespace {

// Version 1 writes about 2^63 for no limit.
constexpr std::uint64_t no_limit_from = std::uint64_t{1} << 62;

bool lists(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// The path of the process's group below the top of its hierarchy, by /proc/self/cgroup:
// "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
std::string group_path(const std::string& root, std::string_view controller, int version) {
  std::istringstream lines(text_of_file(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool found = version == 2 ? line.starts_with("0::") : lists(controllers, controller);
    if (found) return line.substr(second + 1);
  }
  return {};
}

struct Mount {
  std::string top;    // the path of the group that is mounted
  std::string place;  // where
};

// The mounts of a hierarchy, by /proc/self/mountinfo; without that file the usual places.
std::vector<Mount> mounts_of(const std::string& root, std::string_view controller, int version) {
  const std::string text = text_of_file(root + "/proc/self/mountinfo");
  if (text.empty()) {
    if (version == 2)
      return {
          {"/", "/sys/fs/cgroup"}
      };
    const std::string place = "/sys/fs/cgroup/" + std::string(controller);
    return {
        {"/", place             },
        {"/", place + ",cpuacct"}
    };
  }
  std::vector<Mount> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream before(line), after(line.substr(dash + 3));
    std::string id, parent, device, kind, source, options;
    Mount mount;
    before >> id >> parent >> device >> mount.top >> mount.place;
    after >> kind >> source >> options;
    const bool is_wanted =
        version == 2 ? kind == "cgroup2" : kind == "cgroup" && lists(options, controller);
    if (is_wanted) found.push_back(mount);
  }
  return found;
}

// The number that a file of a group consists of; UINT64_MAX: none, or "max".
std::uint64_t limit_in(const std::string& text) {
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error != std::errc() || bytes >= no_limit_from ? UINT64_MAX : bytes;
}

}  // namespace

std::vector<std::string> group_directories(const std::string& root, std::string_view controller,
                                           int version) {
  std::vector<std::string> directories;
  const std::string path = group_path(root, controller, version);
  for (const Mount& mount : mounts_of(root, controller, version)) {
    // A container may mount its own group as the top. A path with ".." is outside of the mount.
    std::string below = path;
    if (mount.top != "/") {
      const bool is_inside = path == mount.top || path.starts_with(mount.top + "/");
      const bool is_known =
          path.starts_with("/") && !path.starts_with("/..") && !mount.top.starts_with("/..");
      if (is_known && !is_inside) continue;  // the groups of another container
      below = is_inside ? path.substr(mount.top.size()) : "";
    }
    if (below.starts_with("/..") || below == "/") below.clear();
    for (;; below.resize(below.rfind('/'))) {
      directories.push_back(mount.place + below);
      if (below.rfind('/') == below.npos) break;
    }
  }
  return directories;
}

GroupMemory group_memory(const std::string& root) {
  GroupMemory least;
  const auto consider = [&](const std::string& directory, const std::string& text) {
    if (const std::uint64_t bytes = limit_in(text); bytes < least.bytes) least = {bytes, directory};
  };
  for (const std::string& directory : group_directories(root, "memory", 2)) {
    consider(directory, text_of_file(root + directory + "/memory.max"));
    consider(directory, text_of_file(root + directory + "/memory.high"));
  }
  for (const std::string& directory : group_directories(root, "memory", 1)) {
    consider(directory, text_of_file(root + directory + "/memory.limit_in_bytes"));
    consider(directory, line_after(text_of_file(root + directory + "/memory.stat"),
                                   "hierarchical_memory_limit"));
  }
  return least;
}

GroupCpus group_cpus(const std::string& root) {
  GroupCpus least;
  const auto consider = [&](const std::string& directory, double quota, double period) {
    if (quota <= 0 || period <= 0) return;
    if (least.cpus == 0 || quota / period < least.cpus) least = {quota / period, directory};
  };
  for (const std::string& directory : group_directories(root, "cpu", 2)) {
    std::istringstream max(text_of_file(root + directory + "/cpu.max"));  // "150000 100000"
    double quota = 0, period = 0;
    if (max >> quota >> period) consider(directory, quota, period);
  }
  for (const std::string& directory : group_directories(root, "cpu", 1))
    consider(directory, number_in(text_of_file(root + directory + "/cpu.cfs_quota_us"), -1),
             number_in(text_of_file(root + directory + "/cpu.cfs_period_us"), 0));
  return least;
}

std::uint64_t usable_memory() {
  struct sysinfo info{};
  sysinfo(&info);
  std::uint64_t bytes =
      std::min(std::uint64_t{info.totalram} * info.mem_unit, group_memory().bytes);
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0) bytes = std::min<std::uint64_t>(bytes, space.rlim_cur);
  return bytes;
}

}  // namespace pawl
