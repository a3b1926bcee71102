// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <string>

#include "tools/arguments.h"
#include "tools/commands.h"

namespace pawl {

// Hidden, because the build calls it: packages have the manual page and the completion.
void add_manual_command(CommandLine& line) {
  Verb verb = line.add_verb("manual", "Prints the manual page, or the completion of bash");
  verb.hide();
  const auto kind = std::make_shared<std::string>();
  verb.option("KIND", *kind, "man or bash").required().check([](const std::string& text) {
    return text == "man" || text == "bash" ? "" : text + " is neither man nor bash";
  });
  verb.on_given([&line, kind] {
    fmt::print("{}", *kind == "man" ? manual_page(line.verbs(), PAWL_VERSION)
                                    : bash_completion(line.verbs()));
    return exit_ok;
  });
}

}  // namespace pawl
