// SPDX-License-Identifier: Apache-2.0
#include "tools/key_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "proto/text/suggest.h"
#include "tools/toml_text.h"

namespace pawl {
namespace {

using Fault = std::unexpected<std::string>;

struct FileText {
  std::string text;
  ~FileText() { explicit_bzero(text.data(), text.size()); }
};

// A file of secrets, and the flag that names it.
struct SecretFile {
  std::string_view flag, content, power;
  std::string path;

  std::string unreadable(std::string_view why) const {
    return fmt::format("{} {}: {}. Name {} that user {} can read.", flag, path, why, content,
                       geteuid());
  }
};

// Other users cannot open the file. A group of the server may read a file of root, as Kubernetes
// mounts secrets with fsGroup: root has then chosen its readers.
bool is_closed(const struct stat& info) {
  const bool is_own_group = info.st_gid == getegid() || group_member(info.st_gid) != 0;
  const bool own_group = info.st_uid == 0 && geteuid() != 0 && is_own_group;
  const mode_t refused = own_group ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  return (info.st_mode & refused) == 0;
}

// Checks mode and owner of the opened file: its name may belong to another file a moment later.
std::expected<void, std::string> read_guarded(const SecretFile& secret, FileText& file) {
  const auto& [flag, content, power, path] = secret;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fault(secret.unreadable(std::strerror(errno)));
  struct stat info{};
  ssize_t count = -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    file.text.resize(key_file_bytes_max + 1);
    count = ::read(fd, file.text.data(), file.text.size());
  }
  ::close(fd);
  if (count < 0) return Fault(secret.unreadable("not a readable file"));
  if (static_cast<std::size_t>(count) > key_file_bytes_max)
    return Fault(
        fmt::format("{} {}: longer than {} bytes, which is the limit. Name a shorter file.", flag,
                    path, key_file_bytes_max));
  file.text.resize(static_cast<std::size_t>(count));
  if (!is_closed(info)) {
    return Fault(
        fmt::format("{} {}: other users can open it (mode {:04o}), and {}. Restrict it with: chmod "
                    "600 {}",
                    flag, path, info.st_mode & 07777, power, path));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return Fault(
        fmt::format("{} {}: it belongs to user {}, who can change it, but the server runs as "
                    "user {}. Change the owner with: chown {} {}",
                    flag, path, info.st_uid, geteuid(), geteuid(), path));
  }
  return {};
}

std::expected<void, std::string> read_key(const std::string& path, const toml::table& table,
                                          Keyring& ring) {
  std::string id, secret, account;
  static const std::vector<std::string> names = {"id", "secret", "account"};
  const std::pair<const char*, std::string*> wanted[] = {
      {"id",      &id     },
      {"secret",  &secret },
      {"account", &account}
  };
  for (const auto& [name, node] : table) {
    const auto known = std::find_if(std::begin(wanted), std::end(wanted),
                                    [&](const auto& want) { return name.str() == want.first; });
    if (known == std::end(wanted)) {
      return Fault(fmt::format("{}: a key has id, secret and account, but no \"{}\".{}",
                               location_of(path, name.source()), name.str(),
                               suggestion(name.str(), names)));
    }
    const auto text = node.value_exact<std::string>();
    if (!text) {
      return Fault(fmt::format("{}: {} must be a string: write it in quotes.",
                               location_of(path, node.source()), known->first));
    }
    *known->second = *text;
  }
  for (const auto& [name, text] : wanted) {
    if (text->empty())
      return Fault(fmt::format("{}: this key has no {}.", location_of(path, table.source()), name));
  }
  const KeyFault fault = ring.add({id, secret, account});
  explicit_bzero(secret.data(), secret.size());
  if (fault == KeyFault::none) return {};
  return Fault(fmt::format("{}: {}", location_of(path, table.source()), text_of(fault)));
}

}  // namespace

std::expected<std::shared_ptr<const Keyring>, std::string> read_key_file(const std::string& path) {
  FileText file;
  const SecretFile secret{"--keys", "a TOML file of [[key]] tables", "its secrets sign any request",
                          path};
  if (auto read = read_guarded(secret, file); !read) return Fault(read.error());
  const auto parsed = parse_toml(file.text, path);
  if (!parsed) return Fault(parsed.error());
  auto ring = std::make_shared<Keyring>();
  for (const auto& [name, node] : *parsed) {
    const toml::array* const keys = node.as_array();
    if (name.str() != "key" || keys == nullptr || !keys->is_homogeneous<toml::table>()) {
      return Fault(fmt::format("{}: this file may contain [[key]] tables only.",
                               location_of(path, name.source())));
    }
    for (const toml::node& key : *keys) {
      if (auto added = read_key(path, *key.as_table(), *ring); !added) return Fault(added.error());
    }
  }
  if (ring->size() == 0) {
    return Fault(fmt::format(
        "{}: there is no key in it. Write [[key]] tables with id, secret and account.", path));
  }
  return ring;
}

std::expected<std::shared_ptr<const BearerToken>, std::string> read_token_file(
    const std::string& path) {
  FileText file;
  const SecretFile secret{"--admin-token", "a file with a token",
                          "its token opens every page of the admin port", path};
  if (auto read = read_guarded(secret, file); !read) return Fault(read.error());
  const auto token = BearerToken::parse(file.text);
  if (token) return std::make_shared<const BearerToken>(*token);
  return Fault(fmt::format("--admin-token {}: {}. Make one with: openssl rand -hex 32", path,
                           token.error()));
}

}  // namespace pawl
