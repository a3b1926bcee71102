// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/profile.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "net/sqs_client/aws_file.h"
#include "net/sqs_client/environment.h"

namespace pawl::sqs_client {
namespace {

constexpr std::string_view key_id_setting = "aws_access_key_id";
constexpr std::string_view secret_setting = "aws_secret_access_key";
constexpr std::string_view token_setting = "aws_session_token";

// The AWS command line prefers these to static keys of the same profile.
constexpr std::string_view preferred_sources[] = {"role_arn", "web_identity_token_file",
                                                  "sso_session", "sso_start_url"};
constexpr std::string_view other_sources[] = {"credential_process", "login_session"};

const AwsSetting* setting(const AwsSection* section, std::string_view name) {
  if (section == nullptr) return nullptr;
  CHECK(!name.empty(), "no setting has an empty name");
  const auto found = section->find(name);
  return found == section->end() || found->second.value.empty() ? nullptr : &found->second;
}

std::string value_of(const AwsSection* section, std::string_view name) {
  const AwsSetting* const found = setting(section, name);
  return found == nullptr ? "" : found->value;
}

// A profile in both files.
struct Profile {
  std::string name;
  bool named = false;  // by the call or AWS_PROFILE
  AwsFile config;
  AwsFile credentials;

  const AwsSection* in_config() const {
    const AwsSection* const prefixed = config.find("profile " + name);
    return prefixed != nullptr || name != "default" ? prefixed : config.find(name);
  }
  const AwsSection* in_credentials() const { return credentials.find(name); }
};

std::string names_of(const Profile& profile) {
  std::vector<std::string> names;
  for (const auto& [name, section] : profile.credentials.sections) names.push_back(name);
  constexpr std::string_view prefix = "profile ";
  for (const auto& [name, section] : profile.config.sections)
    if (name.starts_with(prefix) && profile.credentials.find(name.substr(prefix.size())) == nullptr)
      names.push_back(name.substr(prefix.size()));
  constexpr std::size_t names_max = 20;
  if (names.size() > names_max) names.resize(names_max);
  return names.empty() ? "There are none" : "There are: " + join_texts(names, ", ");
}

std::expected<Profile, std::string> read_profile(const std::string& named) {
  Profile profile;
  profile.name = named.empty() ? profile_of_environment() : named;
  profile.named = !profile.name.empty();
  if (!profile.named) profile.name = "default";
  auto config = read_aws_file(config_file_of_environment());
  if (!config) return std::unexpected(std::move(config.error()));
  profile.config = std::move(*config);
  auto credentials = read_aws_file(credentials_file_of_environment());
  if (!credentials) return std::unexpected(std::move(credentials.error()));
  profile.credentials = std::move(*credentials);
  const bool found = profile.in_config() != nullptr || profile.in_credentials() != nullptr;
  if (profile.named && profile.name != "default" && !found)
    return std::unexpected(format_text("there is no profile \"{}\" in {} and {}. {}.", profile.name,
                                       profile.config.path, profile.credentials.path,
                                       names_of(profile)));
  return profile;
}

// A way to get keys that only other programs know; empty: there is none.
template <typename Names>
std::string unsupported(const Profile& profile, const Names& names) {
  for (const std::string_view name : names) {
    const AwsSetting* found = setting(profile.in_config(), name);
    const AwsFile& file = found == nullptr ? profile.credentials : profile.config;
    if (found == nullptr) found = setting(profile.in_credentials(), name);
    if (found == nullptr) continue;
    CHECK(found->line > 0, "{} without a line", name);
    return format_text(
        "{}:{}: the profile \"{}\" gets its keys by {}, and only {} and {} are read from a "
        "profile. Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN without "
        "--profile; `aws configure export-credentials --profile {} --format env` prints them. A "
        "server that needs no key is asked without --profile and AWS_PROFILE.",
        file.path, found->line, profile.name, name, key_id_setting, secret_setting, profile.name);
  }
  return {};
}

std::expected<SigningKey, std::string> key_of(const Profile& profile) {
  const std::string preferred = unsupported(profile, preferred_sources);
  if (!preferred.empty() && profile.named) return std::unexpected(preferred);
  if (!preferred.empty()) return SigningKey{};
  for (const auto& [section, file] : {std::pair(profile.in_credentials(), &profile.credentials),
                                      std::pair(profile.in_config(), &profile.config)}) {
    const AwsSetting* const id = setting(section, key_id_setting);
    const AwsSetting* const secret = setting(section, secret_setting);
    if (id == nullptr && secret == nullptr) continue;
    if (id == nullptr || secret == nullptr)
      return std::unexpected(format_text(
          "{}:{}: the profile \"{}\" has only one of {} and {}. Give both.", file->path,
          id == nullptr ? secret->line : id->line, profile.name, key_id_setting, secret_setting));
    return SigningKey{id->value, secret->value, value_of(section, token_setting)};
  }
  const std::string other = unsupported(profile, other_sources);
  if (!other.empty() && profile.named) return std::unexpected(other);
  return SigningKey{};
}

std::expected<std::string, std::string> endpoint_of(const Profile& profile,
                                                    std::string_view service) {
  const AwsSection* const section = profile.in_config();
  const AwsSetting* const services = setting(section, "services");
  if (services != nullptr) {
    const AwsSection* const table = profile.config.find("services " + services->value);
    if (table == nullptr)
      return std::unexpected(
          format_text("{}:{}: there is no section [services {}], which the profile \"{}\" names.",
                      profile.config.path, services->line, services->value, profile.name));
    std::string url = value_of(table, std::string(service) + ".endpoint_url");
    if (!url.empty()) return url;
  }
  return value_of(section, "endpoint_url");
}

}  // namespace

std::expected<Access, std::string> find_access(const std::string& profile, std::string_view service,
                                               std::string_view prefix) {
  const auto read = read_profile(profile);
  if (!read) return std::unexpected(read.error());
  CHECK(!read->name.empty(), "a profile without a name");
  Access access{key_of_environment(prefix), region_of_environment(prefix),
                endpoint_of_environment(service), ca_file_of_environment()};
  if (!profile.empty() || access.key.id.empty()) {
    auto key = key_of(*read);
    if (!key) return std::unexpected(std::move(key.error()));
    access.key = std::move(*key);
  }
  if (access.region.empty()) access.region = value_of(read->in_config(), "region");
  if (access.region.empty()) access.region = default_region;
  if (access.ca_file.empty()) access.ca_file = value_of(read->in_config(), "ca_bundle");
  if (access.endpoint.empty()) {
    auto endpoint = endpoint_of(*read, service);
    if (!endpoint) return std::unexpected(std::move(endpoint.error()));
    access.endpoint = std::move(*endpoint);
  }
  CHECK(access.key.id.empty() == access.key.secret.empty() || profile.empty(),
        "half a key of the profile {}", profile);
  return access;
}

}  // namespace pawl::sqs_client
