// SPDX-License-Identifier: Apache-2.0
// Scripts that complete the words of pawl in a shell, made of the verbs of the command line.
//
//   CommandLine ──verbs()──▶ [VerbRow]: bash_completion() ──▶ bash-completion/completions/pawl
//                                       zsh_completion()  ──▶ zsh/vendor-completions/_pawl
//                                       fish_completion() ──▶ fish/vendor_completions.d/pawl.fish
//
// Each script completes verbs, flags, the values of flags with a closed set, and files.
//
// Source: `complete` and `compgen` in bash(1); `_arguments` and `_describe` in zshcompsys(1);
//         `complete` in fish-completions(1).
#pragma once

#include <span>
#include <string>

#include "tools/verb_row.h"

namespace pawl {

// `verbs`: each behind the one that contains it; the first is the program.
std::string bash_completion(std::span<const VerbRow> verbs);
std::string zsh_completion(std::span<const VerbRow> verbs);
std::string fish_completion(std::span<const VerbRow> verbs);

}  // namespace pawl
