// SPDX-License-Identifier: Apache-2.0
#include "net/server/file_access.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "net/events/event_log.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 40;  // as in the kernel's own walk

// Read by the C library and by OpenSSL, some of them at the first use.
constexpr const char* system_paths[] = {"/proc",
                                        "/sys",
                                        "/lib",
                                        "/lib64",
                                        "/usr/lib",
                                        "/usr/lib64",
                                        "/etc/ld.so.cache",
                                        "/etc/ssl",
                                        "/etc/pki",
                                        "/etc/crypto-policies",
                                        "/usr/share/zoneinfo",
                                        "/etc/localtime",
                                        "/etc/resolv.conf",
                                        "/etc/hosts",
                                        "/etc/host.conf",
                                        "/etc/gai.conf",
                                        "/etc/nsswitch.conf",
                                        "/etc/services",
                                        "/dev/urandom",
                                        "/dev/random"};

bool is_near_root(const fs::path& directory) {
  const fs::path inside = directory.relative_path();
  return std::distance(inside.begin(), inside.end()) <= 1;
}

void add_unique(std::vector<std::string>& all, std::string one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
}

std::string parent_of(const std::string& path) {
  std::error_code failed;
  return fs::absolute(path, failed).lexically_normal().parent_path().string();
}

}  // namespace

std::vector<std::string> directories_on_the_way(const std::string& path) {
  CHECK(!path.empty(), "a file without a name");
  std::error_code failed;
  std::vector<std::string> found;
  fs::path left = fs::absolute(path, failed).relative_path();
  fs::path at = "/";
  for (int links = 0; !left.empty() && links < links_max;) {
    const fs::path name = *left.begin();
    fs::path rest;
    for (auto part = std::next(left.begin()); part != left.end(); ++part) rest /= *part;
    left = std::move(rest);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = at.parent_path();
    } else if (const fs::path next = at / name; !fs::is_symlink(next, failed)) {
      at = next;
    } else {
      if (left.empty() || !is_near_root(at)) add_unique(found, at.string());
      const fs::path target = fs::read_symlink(next, failed);
      if (target.is_absolute()) at = "/";
      left = target.relative_path() / left;
      ++links;
    }
  }
  CHECK(at.is_absolute(), "{} depends on the working directory", at.string());
  if (left.empty()) add_unique(found, at.parent_path().string());  // else links form a circle
  return found;
}

std::vector<FileRule> file_rules(const ServerOptions& options) {
  std::vector<FileRule> rules{
      {options.data, FileRights::write}
  };
  std::error_code failed;  // a log may be on another disk
  for (fs::directory_iterator at(options.data, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    if (!at->is_symlink(failed) || !at->is_directory(failed)) continue;
    rules.push_back({at->path().string(), FileRights::write});
    rules.push_back({at->path().string() + "/..", FileRights::read_dir});  // the start flushes it
  }
  if (!options.unix_path.empty())
    rules.push_back(
        {parent_of(options.unix_path), FileRights::make_socket | FileRights::remove_file, true});
  if (options.deletes_data) rules.push_back({parent_of(options.data), FileRights::remove_dir});
  for (const std::string& file : {options.config_file, options.keys_file, options.admin_token_file,
                                  options.tls_certificate, options.tls_key}) {
    if (file.empty()) continue;
    for (const std::string& directory : directories_on_the_way(file))
      rules.push_back({directory, FileRights::read, true});
  }
  for (const char* const path : system_paths) rules.push_back({path, FileRights::read, true});
  for (const char* const variable : {"OPENSSL_CONF", "OPENSSL_MODULES"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != 0) rules.push_back({value, FileRights::read, true});
  }
  return rules;
}

std::expected<void, std::string> limit_server_files(const ServerOptions& options) {
  if (!options.landlock) return {};
  const int version = landlock_version();
  if (version == 0) {
    emit(Event{EventCode::landlock_absent, std::string(landlock_absent_text)});
    return {};
  }
  CHECK(!options.data.empty(), "a server without a data directory");
  event_log().stop();  // its thread has no limit
  auto limited = limit_file_access(file_rules(options), version);
  event_log().start();
  return limited;
}

}  // namespace pawl
