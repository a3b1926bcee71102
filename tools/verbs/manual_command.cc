// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <string>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/manual.h"

namespace pawl {
namespace {

std::string text_of(const std::string& kind, const std::vector<VerbRow>& verbs) {
  if (kind == "bash") return bash_completion(verbs);
  if (kind == "zsh") return zsh_completion(verbs);
  if (kind == "fish") return fish_completion(verbs);
  return manual_page(verbs, PAWL_VERSION);
}

std::string check_kind(const std::string& text) {
  if (text == "man" || text == "bash" || text == "zsh" || text == "fish") return {};
  return fmt::format("\"{}\" is no kind of manual. Write man, bash, zsh or fish.", text);
}

}  // namespace

// Hidden, because the build calls it: packages have the manual page and the completions.
void add_manual_command(CommandLine& line) {
  Verb verb = line.add_verb("manual", "Prints the manual page, or the completion of a shell");
  verb.hide();
  const auto kind = std::make_shared<std::string>();
  verb.option("KIND", *kind, "man, bash, zsh or fish").required().check(check_kind);
  verb.on_given([&line, kind] {
    fmt::print("{}", text_of(*kind, line.verbs()));
    return exit_ok;
  });
}

}  // namespace pawl
