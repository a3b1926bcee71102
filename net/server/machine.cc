// SPDX-License-Identifier: Apache-2.0
#include "net/server/machine.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/check.h"
#include "net/io/system_file.h"

namespace pawl {

std::string amount_text(std::uint64_t bytes) {
  if (bytes == UINT64_MAX) return "unlimited";
  if (bytes >= std::uint64_t{1} << 30)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{} KiB", bytes >> 10);
}

std::uint64_t process_limit(int resource) {
  rlimit value{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &value) != 0) return 0;
  return value.rlim_cur == RLIM_INFINITY ? UINT64_MAX : value.rlim_cur;
}

std::string_view filesystem_name(std::uint64_t magic) {
  switch (magic) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs";
    case 0x794c7630:
      return "overlayfs";
    case 0x6969:
      return "nfs";
    case 0x65735546:
      return "fuse";
    case 0x2fc12fc1:
      return "zfs";
    case 0xca451a4e:
      return "bcachefs";
    case 0xF2F52010:
      return "f2fs";
    default:
      return "";
  }
}

std::string copy_on_write_warning(std::uint64_t magic) {
  const std::string_view name = filesystem_name(magic);
  if (name != "btrfs" && name != "zfs" && name != "bcachefs") return {};
  return fmt::format(
      "{} writes every block to a new place: on a full disk also a write into the preallocated log "
      "can fail, and then the server stops",
      name);
}

std::string copy_on_write_warning(const std::string& directory) {
  struct statfs about{};
  return statfs(directory.c_str(), &about) == 0
             ? copy_on_write_warning(static_cast<std::uint64_t>(about.f_type) & 0xffffffff)
             : "";
}

RingSurroundings ring_surroundings(const std::string& root) {
  RingSurroundings around;
  around.seccomp = number_in(line_after(text_of_file(root + "/proc/self/status"), "Seccomp:"), 0);
  around.io_uring_disabled =
      number_in(text_of_file(root + "/proc/sys/kernel/io_uring_disabled"),
                text_of_file(root + "/proc/sys/kernel/osrelease").empty() ? -1 : 0);
  around.memlock_bytes = process_limit(RLIMIT_MEMLOCK);
  utsname system{};
  if (uname(&system) == 0) around.kernel = system.release;
  return around;
}

std::string explain_ring_error(const Error& refusal, const RingSurroundings& around) {
  const int error = refusal.sys;
  const std::string name = fmt::format(
      "{}: {}", refusal.what, strerrorname_np(error) ? strerrorname_np(error) : "unknown error");
  constexpr const char* seccomp_remedy =
      "Docker and containerd do so by default since 2023. Run the container with a profile that "
      "allows io_uring_setup, "
      "io_uring_enter and io_uring_register, or, to try it out, with --security-opt "
      "seccomp=unconfined.";
  if (error == EPERM && around.io_uring_disabled > 0)
    return fmt::format(
        "{}: the sysctl kernel.io_uring_disabled is {}. Allow it: `sysctl -w "
        "kernel.io_uring_disabled=0`{}.",
        name, around.io_uring_disabled,
        around.io_uring_disabled == 1 ? ", or add this user's group to kernel.io_uring_group" : "");
  if ((error == EPERM || error == EACCES || error == ENOSYS) && around.seccomp == 2)
    return fmt::format("{}: a seccomp filter of this container or unit blocks io_uring. {}", name,
                       seccomp_remedy);
  if (error == EPERM && around.io_uring_disabled < 0)
    return fmt::format(
        "{}: the sysctl kernel.io_uring_disabled, which this process cannot see, or a security "
        "module forbids it. Check `sysctl kernel.io_uring_disabled` outside of the sandbox.",
        name);
  if (error == EPERM || error == EACCES)
    return fmt::format(
        "{}: a security module forbids io_uring. Allow it in the policy of SELinux or AppArmor for "
        "this program.",
        name);
  if (error == ENOSYS)
    return fmt::format(
        "{}: kernel {} was built without io_uring. Use a kernel with CONFIG_IO_URING, 6.1 or "
        "newer.",
        name, around.kernel);
  if (error == ENOMEM)
    return fmt::format(
        "{}: the rings do not fit the limit of locked memory, {}. Raise it: `ulimit -l unlimited`, "
        "LimitMEMLOCK=infinity in the systemd unit, or --ulimit memlock=-1 for a container.",
        name, amount_text(around.memlock_bytes));
  if (error == EINVAL)
    return fmt::format(
        "{}: kernel {} does not know the ring flags pawl needs. Use kernel 6.1 or newer.", name,
        around.kernel);
  if (error == EMFILE || error == ENFILE)
    return fmt::format("{}: no file descriptor is left ({}). Raise the limit: `ulimit -n 10240`.",
                       name, std::strerror(error));
  return fmt::format("{}: {}. Run `pawl doctor` for more.", name, std::strerror(error));
}

std::string explain_ring_error(const Error& error) {
  return explain_ring_error(error, ring_surroundings());
}

std::string fallback_text(const RingChoice& choice) {
  CHECK(choice.error != 0, "io_uring was not refused");
  return fmt::format(
      "runs with --io threads instead of io_uring, as safe, but each send takes longer "
      "(`bench/backends`). {}",
      explain_ring_error({Errc::io, choice.error, choice.refused}));
}

}  // namespace pawl
