// SPDX-License-Identifier: Apache-2.0
#include "tools/config/configuration.h"

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "proto/declared/declared_call.h"
#include "tools/config/config_file.h"
#include "tools/config/server_options.h"
#include "tools/declared_queues.h"

namespace pawl {

Configuration read_configuration(GivenValues given, std::string_view text,
                                 const std::string& path) {
  CHECK(!path.empty() || text.empty(), "a file without a name");
  Configuration read{.given = std::move(given), .options = {}, .faults = {}};
  if (!path.empty()) read.faults = read_config(text, path, read.given);
  MadeOptions made = make_server_options(read.given);
  read.options = std::move(made.options);
  read.faults.insert(read.faults.end(), made.faults.begin(), made.faults.end());
  if (path.empty()) return read;
  DeclaredRead declared = read_declared_rows(text, path,
                                             {.account = read.options.account,
                                              .region = read.options.region,
                                              .messages = read.options.dev,
                                              .schedules = !read.options.strict_sqs});
  read.options.declared = std::make_shared<const DeclaredRows>(std::move(declared.rows));
  read.faults.insert(read.faults.end(), declared.faults.begin(), declared.faults.end());
  sort_by_place(read.faults, path);
  return read;
}

Faults all_faults(const Configuration& read, const std::string& path, bool insecure) {
  CHECK(!path.empty(), "the faults of no file");
  Faults faults = read.faults;
  if (read.options.declared != nullptr) {
    CallSettings settings;
    settings.account = read.options.account;
    settings.region = read.options.region;
    settings.strict_sqs = read.options.strict_sqs;
    DeclaredCall call(read.options.declared, "", settings, 0);
    for (std::string& fault : call.check(Directory())) faults.push_back(std::move(fault));
  }
  const auto auth = read.given.find("auth");
  const bool known = auth == read.given.end() || auth->second.text == read.options.auth;
  const auto exposed = check_exposure(read.options, read.given);
  if (!exposed && !insecure && !read.options.dev && known) faults.push_back(exposed.error());
  sort_by_place(faults, path);
  return faults;
}

}  // namespace pawl
