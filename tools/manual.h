// SPDX-License-Identifier: Apache-2.0
// The manual page and the completion of bash, made of the verbs that the command line has.
//
//   CommandLine ──verbs()──▶ [VerbRow]: manual_page()     ──▶ pawl.1
//                                       bash_completion() ──▶ completions/pawl
//
// Source: groff_man(7); `complete` and `compgen` in bash(1).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace pawl {

// An option, a flag or an argument by position.
struct OptionRow {
  std::vector<std::string> names;  // "--data"; none for an argument by position
  std::string value;               // as "DIR" or "yes|no"; empty for a flag
  std::string help;
  bool positional = false;  // accepted without its name
};

struct VerbRow {
  std::string path;  // "pawl", "pawl wal", "pawl wal dump"
  std::string help;
  std::string footer;
  std::vector<OptionRow> options;
};

// `verbs`: each behind the one that contains it; the first is the program.
std::string manual_page(std::span<const VerbRow> verbs, const std::string& version);
std::string bash_completion(std::span<const VerbRow> verbs);

}  // namespace pawl
