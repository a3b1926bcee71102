// SPDX-License-Identifier: Apache-2.0
#include "tools/completion.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"

namespace pawl {
namespace {

// --- of every shell ---

bool names_a_file(const OptionRow& option) {
  return option.value == "DIR" || option.value == "FILE" || option.value == "PATH";
}

// The closed set of its values, with spaces between them; empty if there is none.
std::string choices_of(const OptionRow& option) {
  std::string choices = option.value;
  if (choices.find('|') == choices.npos) return "";
  CHECK(choices.find_first_of("' ()") == choices.npos, "{} cannot be quoted", choices);
  for (char& c : choices)
    if (c == '|') c = ' ';
  return choices;
}

bool takes_files(const VerbRow& verb) {
  for (const OptionRow& option : verb.options)
    if (option.positional && names_a_file(option)) return true;
  return false;
}

// The help text until its first sentence or parenthesis ends it: a menu has one line for it.
std::string summary_of(std::string_view help) {
  std::size_t end = help.size();
  for (const std::string_view mark : {". ", "; ", " (", ": "}) end = std::min(end, help.find(mark));
  std::string text(help.substr(0, end));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// A backslash precedes each character of `escaped`.
std::string escape(std::string_view text, std::string_view escaped) {
  std::string out;
  for (const char c : text) {
    if (escaped.find(c) != escaped.npos) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> paths_of(std::span<const VerbRow> verbs) {
  std::vector<std::string> paths;
  for (const VerbRow& verb : verbs.subspan(1)) paths.push_back("'" + verb.path + "'");
  return paths;
}

void check_verbs(std::span<const VerbRow> verbs) {
  CHECK(!verbs.empty(), "the first row is the program");
  CHECK(verbs.front().path == "pawl", "the script calls {} pawl", verbs.front().path);
  for (const VerbRow& verb : verbs) {
    CHECK(verb.path.find('\'') == verb.path.npos, "{} ends the quotes around it", verb.path);
    CHECK(!verb.help.empty(), "{} has no help", verb.path);
  }
}

// --- bash ---

std::string words_after(std::span<const VerbRow> verbs, const VerbRow& verb) {
  std::vector<std::string> words;
  for (const VerbRow& inner : verbs)
    if (is_inside(inner, verb)) words.push_back(name_of(inner));
  for (const OptionRow& option : verb.options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  return join_texts(words, " ");
}

// A value is expected behind `pawl serve --data`, and files as an argument of `pawl wal dump`.
std::string value_cases(std::span<const VerbRow> verbs) {
  std::string text;
  for (const VerbRow& verb : verbs) {
    for (const OptionRow& option : verb.options) {
      if (option.value.empty()) continue;
      const std::string choices = choices_of(option);
      std::string command = names_a_file(option) ? "_pawl_files" : ":";
      if (!choices.empty()) command = format_text("_pawl_words '{}'", choices);
      for (const std::string& name : option.names)
        text += format_text("    '{} {}') {}; return ;;\n", verb.path, name, command);
    }
  }
  return text;
}

constexpr const char* bash_begin = R"(# Completion of bash for pawl, made of its verbs.
_pawl_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_pawl_files() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
_pawl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=pawl i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${COMP_WORDS[i]}" in
      )";

constexpr const char* bash_end = R"(  esac
}
complete -F _pawl pawl
)";

// --- zsh ---

std::string zsh_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

// The value behind an option: its message, and the words or files that complete it.
std::string zsh_value(const OptionRow& option) {
  if (option.value.empty()) return "";
  const std::string choices = choices_of(option);
  std::string action = names_a_file(option) ? "_files" : " ";
  if (!choices.empty()) action = "(" + choices + ")";
  return ":" + escape(choices.empty() ? option.value : "value", ":\\") + ":" + action;
}

// The specifications of _arguments for the options of a verb.
std::string zsh_options(const VerbRow& verb) {
  std::string text;
  for (const OptionRow& option : verb.options) {
    CHECK(option.positional || !option.names.empty(), "an option of {} without a name", verb.path);
    const std::string help = escape(summary_of(option.help), "[]\\");
    const std::string once = "(" + join_texts(option.names, " ") + ")";
    for (const std::string& name : option.names) {
      const bool has_value = name.starts_with("--") && !option.value.empty();
      const std::string row = format_text("{}{}{}[{}]{}", option.repeats ? "*" : once, name,
                                          has_value ? "=" : "", help, zsh_value(option));
      text += "        " + zsh_quoted(row) + "\n";
    }
    if (option.positional) text += "        " + zsh_quoted(zsh_value(option)) + "\n";
  }
  return text;
}

std::string zsh_verbs(std::span<const VerbRow> verbs, const VerbRow& verb) {
  std::string text;
  for (const VerbRow& inner : verbs)
    if (is_inside(inner, verb))
      text += "        " + zsh_quoted(name_of(inner) + ":" + summary_of(inner.help)) + "\n";
  return text;
}

constexpr const char* zsh_begin = R"(#compdef pawl
# Completion of zsh for pawl, made of its verbs.
compdef _pawl pawl
_pawl() {
  local verb=pawl at=1 i
  local -a verbs options
  for ((i = 2; i < CURRENT; i++)); do
    case "$verb $words[i]" in
      )";

constexpr const char* zsh_middle = R"() verb="$verb $words[i]" at=$i ;;
    esac
  done
  words=("${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
  case $verb in
)";

constexpr const char* zsh_end = R"(  esac
  (($#verbs)) && options+=('1: :{_describe verb verbs}')
  _arguments "$options[@]"
}
# The shell calls the file the first time that it completes; nothing is completed while it is sourced.
[[ $funcstack[1] == _pawl ]] && _pawl "$@"
)";

// --- fish ---

std::string fish_quoted(std::string_view text) { return "'" + escape(text, "'\\") + "'"; }

std::string fish_option(const OptionRow& option, const std::string& condition) {
  if (option.names.empty()) return "";
  std::string text = condition;
  for (const std::string& name : option.names) {
    CHECK(name.starts_with("--") || name.size() == 2, "fish has no options as {}", name);
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const std::string choices = choices_of(option);
  if (names_a_file(option))
    text += " -r -F";
  else if (!option.value.empty())
    text += choices.empty() ? " -x" : " -x -a " + fish_quoted(choices);
  return text + " -d " + fish_quoted(summary_of(option.help)) + "\n";
}

constexpr const char* fish_begin = R"(# Completion of fish for pawl, made of its verbs.
function __pawl_at
    set -l verb pawl
    for word in (commandline -opc)[2..]
        switch "$verb $word"
            case )";

constexpr const char* fish_middle = R"(
                set verb "$verb $word"
        end
    end
    test "$verb" = "$argv"
end
complete -c pawl -f
)";

}  // namespace

std::string bash_completion(std::span<const VerbRow> verbs) {
  check_verbs(verbs);
  std::string text = bash_begin + join_texts(paths_of(verbs), " | ");
  text += ") verb=\"$verb ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n";
  text += "  case \"$verb $before\" in\n" + value_cases(verbs) + "  esac\n  case $verb in\n";
  for (const VerbRow& verb : verbs) {
    text += format_text("    '{}') ", verb.path);
    if (takes_files(verb)) text += "[[ $word == -* ]] || { _pawl_files; return; }; ";
    text += format_text("_pawl_words '{}' ;;\n", words_after(verbs, verb));
  }
  return text + bash_end;
}

std::string zsh_completion(std::span<const VerbRow> verbs) {
  check_verbs(verbs);
  std::string text = zsh_begin + join_texts(paths_of(verbs), "|") + zsh_middle;
  for (const VerbRow& verb : verbs) {
    text += format_text("    '{}')\n", verb.path);
    const std::string inner = zsh_verbs(verbs, verb);
    if (!inner.empty()) text += "      verbs=(\n" + inner + "      )\n";
    text += "      options=(\n" + zsh_options(verb) + "      ) ;;\n";
  }
  return text + zsh_end;
}

std::string fish_completion(std::span<const VerbRow> verbs) {
  check_verbs(verbs);
  std::string text = fish_begin + join_texts(paths_of(verbs), " ") + fish_middle;
  for (const VerbRow& verb : verbs) {
    const std::string condition = format_text("complete -c pawl -n '__pawl_at {}'", verb.path);
    for (const VerbRow& inner : verbs)
      if (is_inside(inner, verb))
        text += format_text("{} -a {} -d {}\n", condition, name_of(inner),
                            fish_quoted(summary_of(inner.help)));
    for (const OptionRow& option : verb.options) text += fish_option(option, condition);
    if (takes_files(verb)) text += condition + " -F\n";
  }
  return text;
}

}  // namespace pawl
