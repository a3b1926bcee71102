// SPDX-License-Identifier: Apache-2.0
#include "tools/config/configuration.h"

#include <memory>
#include <utility>

#include "core/base/check.h"
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
                                              .messages = read.options.dev});
  read.options.declared = std::make_shared<const DeclaredRows>(std::move(declared.rows));
  read.faults.insert(read.faults.end(), declared.faults.begin(), declared.faults.end());
  sort_by_place(read.faults, path);
  return read;
}

}  // namespace pawl
