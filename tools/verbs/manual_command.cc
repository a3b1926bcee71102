// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/manual.h"

namespace pawl {
namespace {

struct ManualOptions {
  std::string kind;
  std::string name = "pawl";  // of a page
  std::string out;            // directory; empty: standard output
};

std::string check_kind(const std::string& text) {
  if (text == "man" || text == "bash" || text == "zsh" || text == "fish") return {};
  return fmt::format("\"{}\" is no kind of manual. Write man, bash, zsh or fish.", text);
}

int write_page(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (written) return exit_ok;
  return fail_with(exit_failure, fmt::format("{} cannot be written: {}. --out names a directory.",
                                             path, std::strerror(errno)));
}

int write_pages(const std::vector<ManualPage>& pages, const ManualOptions& asked) {
  for (const ManualPage& page : pages) {
    if (!asked.out.empty()) {
      const int code = write_page(fmt::format("{}/{}.1", asked.out, page.name), page.text);
      if (code != exit_ok) return code;
    } else if (page.name == asked.name) {
      fmt::print("{}", page.text);
      return exit_ok;
    }
  }
  if (!asked.out.empty()) return exit_ok;
  return fail_with(exit_usage, fmt::format("there is no page \"{}\". Name pawl, or pawl-VERB with "
                                           "a verb of `pawl --help`.",
                                           asked.name));
}

int print_manual(const std::vector<VerbRow>& verbs, const ManualOptions& asked) {
  if (asked.kind == "man") return write_pages(manual_pages(verbs, PAWL_VERSION), asked);
  if (asked.kind == "bash") fmt::print("{}", bash_completion(verbs));
  if (asked.kind == "zsh") fmt::print("{}", zsh_completion(verbs));
  if (asked.kind == "fish") fmt::print("{}", fish_completion(verbs));
  return exit_ok;
}

}  // namespace

// Hidden, because the build calls it: packages have the manual pages and the completions.
void add_manual_command(CommandLine& line) {
  Verb verb = line.add_verb("manual", "Prints a manual page, or the completion of a shell");
  verb.hide();
  const auto asked = std::make_shared<ManualOptions>();
  verb.option("KIND", asked->kind, "man, bash, zsh or fish").required().check(check_kind);
  verb.option("PAGE", asked->name, "With man: the page, as pawl or pawl-queue");
  verb.option("--out", asked->out, "With man: write every page to a file in this directory")
      .value_name("DIR");
  verb.on_given([&line, asked] { return print_manual(line.verbs(), *asked); });
}

}  // namespace pawl
