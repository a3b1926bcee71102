// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <cstddef>
#include <string_view>

#include "core/base/check.h"
#include "core/base/format.h"

namespace pawl {
namespace {

// --- the manual page ---

// The text as groff prints it: a hyphen can be copied, a line is no request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string heading_of(const OptionRow& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + bold(name);
  if (option.value.empty()) return text;
  return text + (text.empty() ? "" : " ") + italic(option.value);
}

std::string synopsis_of(const VerbRow& verb) {
  std::string text = bold(verb.path);
  bool has_options = false;
  for (const OptionRow& option : verb.options) {
    if (option.positional) text += " [" + italic(option.value) + "]";
    has_options |= !option.names.empty();
  }
  return text + (has_options ? " [" + italic("OPTION") + "...]" : "");
}

// Lines as they are: the text is laid out for a terminal.
std::string as_written(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

// --- the completion ---

bool is_inside(const std::string& path, const std::string& outer) {
  return path.size() > outer.size() && path.starts_with(outer + " ") &&
         path.find(' ', outer.size() + 1) == path.npos;
}

std::string words_after(std::span<const VerbRow> verbs, const VerbRow& verb) {
  std::vector<std::string> words;
  for (const VerbRow& inner : verbs)
    if (is_inside(inner.path, verb.path)) words.push_back(inner.path.substr(verb.path.size() + 1));
  for (const OptionRow& option : verb.options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  std::string text = join_texts(words, " ");
  CHECK(text.find('\'') == text.npos, "{} ends the quotes around it", text);
  return text;
}

bool names_a_file(const std::string& value) {
  return value == "DIR" || value == "FILE" || value == "PATH";
}

// The commands that complete the value of an option; empty where any text is right.
std::string values_of(const OptionRow& option) {
  if (names_a_file(option.value)) return "_pawl_files";
  std::string choices = option.value;
  if (choices.find('|') == choices.npos) return "";
  CHECK(choices.find('\'') == choices.npos, "{} ends the quotes around it", choices);
  for (char& c : choices)
    if (c == '|') c = ' ';
  return format_text("_pawl_words '{}'", choices);
}

// A value is expected behind `pawl serve --data`, and files as an argument of `pawl wal dump`.
std::string value_cases(std::span<const VerbRow> verbs) {
  std::string text;
  for (const VerbRow& verb : verbs) {
    for (const OptionRow& option : verb.options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names)
        text += format_text("    '{} {}') {}; return ;;\n", verb.path, name,
                            values_of(option).empty() ? ":" : values_of(option));
    }
  }
  return text;
}

bool takes_files(const VerbRow& verb) {
  for (const OptionRow& option : verb.options)
    if (option.positional && names_a_file(option.value)) return true;
  return false;
}

constexpr const char* completion_begin = R"(# Completion of bash for pawl, made of its verbs.
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

constexpr const char* completion_end = R"(  esac
}
complete -F _pawl pawl
)";

}  // namespace

std::string manual_page(std::span<const VerbRow> verbs, const std::string& version) {
  CHECK(!verbs.empty(), "the first row is the program");
  const VerbRow& program = verbs.front();
  std::string_view summary = program.help;  // "pawl: a message queue."
  if (const std::size_t colon = summary.find(": "); colon != summary.npos)
    summary.remove_prefix(colon + 2);
  if (summary.ends_with('.')) summary.remove_suffix(1);
  std::string text = format_text(".TH PAWL 1 \"\" \"pawl {}\" \"User Commands\"\n", version);
  text += format_text(".SH NAME\n{} \\- {}\n", program.path, roff(summary));
  text += format_text(".SH SYNOPSIS\n{} {} [{}...]\n", bold(program.path), italic("VERB"),
                      italic("OPTION"));
  text += ".SH DESCRIPTION\n" + roff(program.footer) + "\n.SH VERBS\n";
  for (const VerbRow& verb : verbs.subspan(1)) {
    CHECK(verb.path.starts_with(program.path + " "), "{} is no verb of it", verb.path);
    text +=
        format_text(".SS {}\n{}\n.PP\n{}.\n", roff(verb.path), synopsis_of(verb), roff(verb.help));
    CHECK(!verb.help.empty(), "{} has no help", verb.path);
    for (const OptionRow& option : verb.options)
      text += format_text(".TP\n{}\n{}\n", heading_of(option), roff(option.help));
    text += as_written(verb.footer);
  }
  return text;
}

std::string bash_completion(std::span<const VerbRow> verbs) {
  CHECK(!verbs.empty(), "the first row is the program");
  std::string text = completion_begin;
  CHECK(verbs.front().path == "pawl", "the script calls {} pawl", verbs.front().path);
  for (const VerbRow& verb : verbs.subspan(1))
    text += format_text("      '{}') verb='{}' ;;\n", verb.path, verb.path);
  text += "    esac\n  done\n  case \"$verb $before\" in\n" + value_cases(verbs);
  text += "  esac\n  case $verb in\n";
  for (const VerbRow& verb : verbs) {
    text += format_text("    '{}') ", verb.path);
    if (takes_files(verb)) text += "[[ $word == -* ]] || { _pawl_files; return; }; ";
    text += format_text("_pawl_words '{}' ;;\n", words_after(verbs, verb));
  }
  return text + completion_end;
}

}  // namespace pawl
