// SPDX-License-Identifier: Apache-2.0
#include "bench/load_machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pawl::load {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The value of the first line "name<blanks>: value".
std::string value_in(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == line.npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == line.npos ? std::string() : line.substr(begin);
  }
  return {};
}

unsigned usable_cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
}

bool is_below(const std::string& directory, const std::string& mount) {
  if (mount == "/") return true;
  return directory.starts_with(mount) &&
         (directory.size() == mount.size() || directory[mount.size()] == '/');
}

}  // namespace

std::string mount_of(const std::string& directory, const std::string& mounts) {
  std::string best, found;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, mount, kind;
    if (!(words >> device >> mount >> kind) || !is_below(directory, mount)) continue;
    if (mount.size() < best.size()) continue;  // a later mount covers an earlier one
    best = mount;
    found = kind + " on " + device;
  }
  return found;
}

MachineFacts machine_facts(const std::string& data, const std::string& root) {
  MachineFacts facts;
  facts.cpu = value_in(text_of(root + "/proc/cpuinfo"), "model name");
  if (const long cores = ::sysconf(_SC_NPROCESSORS_ONLN); cores > 0)
    facts.cores = static_cast<unsigned>(cores);
  facts.usable = usable_cores();
  utsname system{};
  if (::uname(&system) == 0) {
    facts.kernel = std::string(system.sysname) + " " + system.release;
    if (facts.cpu.empty()) facts.cpu = system.machine;
  }
  std::istringstream(value_in(text_of(root + "/proc/meminfo"), "MemTotal")) >> facts.memory_bytes;
  facts.memory_bytes *= 1024;
  if (data.empty()) return facts;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(data, error);
  if (!error) facts.file_system = mount_of(real.string(), text_of(root + "/proc/self/mounts"));
  return facts;
}

}  // namespace pawl::load
