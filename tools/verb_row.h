// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line as rows: the source of the manual pages and the completions.
#pragma once

#include <string>
#include <vector>

namespace pawl {

// An option, a flag or an argument by position.
struct OptionRow {
  std::vector<std::string> names;  // "--data"; none for an argument by position
  std::string value;               // as "DIR" or "yes|no"; empty for a flag
  std::string help;
  bool positional = false;  // accepted without its name
  bool repeats = false;     // may be given more than once
};

struct VerbRow {
  std::string path;  // "pawl", "pawl wal", "pawl wal dump"
  std::string help;
  std::string footer;
  std::vector<OptionRow> options;
};

// `inner` is a verb of `outer` itself: "pawl wal dump" of "pawl wal", but not of "pawl".
inline bool is_inside(const VerbRow& inner, const VerbRow& outer) {
  const std::string& path = inner.path;
  const std::size_t begin = outer.path.size() + 1;
  return path.size() > begin && path.starts_with(outer.path + " ") &&
         path.find(' ', begin) == path.npos;
}

// The last word of its path.
inline std::string name_of(const VerbRow& verb) {
  return verb.path.substr(verb.path.rfind(' ') + 1);
}

}  // namespace pawl
