// SPDX-License-Identifier: Apache-2.0
#include "net/server/landlock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "net/server/remedy.h"

namespace pawl {
namespace {

// The numbers of the calls are the same on all processors. Headers of older kernels lack later
// rights, so the constants are ours.
constexpr long create_ruleset_call = 444, add_rule_call = 445, restrict_self_call = 446;
constexpr std::uint32_t ask_version = 1;
constexpr int path_beneath = 1;

struct RulesetAttributes {
  std::uint64_t handled_access_fs;
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
static_assert(sizeof(PathBeneath) == 12);

constexpr std::uint64_t rights_for_files =
    FileRights::read_file | FileRights::write_file | FileRights::truncate;

std::uint64_t known_rights(int version) {
  CHECK(version > 0, "version {} of Landlock", version);
  constexpr std::uint64_t device_control = 1 << 15;
  std::uint64_t known = FileRights::all_known;
  if (version < 5) known &= ~device_control;
  if (version < 3) known &= ~FileRights::truncate;
  if (version < 2) known &= ~FileRights::refer;
  return known;
}

std::unexpected<std::string> refused(const std::string& what, int error) {
  const bool too_many_files = error == EMFILE || error == ENFILE;
  const std::string remedy =
      too_many_files ? remedy_for(error) : " Start with --landlock off to serve without this limit";
  return std::unexpected(
      fmt::format("cannot limit file access: {}: {}.{}", what, std::strerror(error), remedy));
}

std::expected<void, std::string> add_rule(int ruleset, const FileRule& rule, std::uint64_t known) {
  CHECK((rule.rights & ~FileRights::all_known) == 0, "rights {}", rule.rights);
  const int fd = ::open(rule.path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0 && rule.may_be_absent && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
    return {};
  if (fd < 0) return refused(rule.path, errno);
  struct stat about{};
  int error = ::fstat(fd, &about) == 0 ? 0 : errno;
  PathBeneath beneath{.allowed_access = rule.rights & known, .parent_fd = fd};
  if (!S_ISDIR(about.st_mode)) beneath.allowed_access &= rights_for_files;
  if (error == 0 && beneath.allowed_access != 0 &&
      ::syscall(add_rule_call, ruleset, path_beneath, &beneath, 0) != 0)
    error = errno;
  ::close(fd);
  if (error != 0) return refused(rule.path, error);
  return {};
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(create_ruleset_call, nullptr, 0, ask_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

std::expected<void, std::string> limit_file_access(std::span<const FileRule> rules, int version) {
  const RulesetAttributes attributes{known_rights(version)};
  const int ruleset =
      static_cast<int>(::syscall(create_ruleset_call, &attributes, sizeof attributes, 0));
  if (ruleset < 0) return refused("landlock_create_ruleset", errno);
  std::expected<void, std::string> done;
  for (const FileRule& rule : rules) {
    done = add_rule(ruleset, rule, attributes.handled_access_fs);
    if (!done) break;
  }
  if (done && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) done = refused("no_new_privs", errno);
  if (done && ::syscall(restrict_self_call, ruleset, 0) != 0)
    done = refused("landlock_restrict_self", errno);
  ::close(ruleset);
  return done;
}

}  // namespace pawl
