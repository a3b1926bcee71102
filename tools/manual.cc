// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <cstddef>
#include <string_view>

#include "core/base/check.h"
#include "core/base/format.h"

namespace pawl {
namespace {

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

}  // namespace pawl
