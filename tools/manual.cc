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

// A queue with a dead-letter queue, from its first message to a redrive. The test of the package
// runs these lines.
constexpr std::string_view first_steps = R"(pawl check
pawl queue create orders\-dead
pawl queue create orders \-\-dead\-letters orders\-dead \-\-max\-receives 3
pawl send orders 'the first message'
pawl receive orders \-\-delete
pawl queue ls
pawl top \-n 1
pawl check queues
pawl dlq ls
pawl peek orders\-dead
pawl dlq redrive orders\-dead
pawl config check /etc/pawl/pawl.toml
pawl config diff /etc/pawl/pawl.toml
)";

constexpr std::string_view files_and_pages = R"(.SH FILES
.TP
\fI/etc/pawl/pawl.toml\fR
Settings of the unit pawl.service of the Debian package
.TP
\fI/var/lib/pawl\fR
Its messages
.TP
\fI/usr/share/doc/pawl\fR
More pages: VERBS.md has the verbs for queues and messages, LOOKING.md says how to find out why a
message is not delivered, CONFIGURATION.md has the settings, SERVING.md access from other machines
.SH SEE ALSO
.BR systemctl (1),
.BR journalctl (1)
)";

std::string options_of(const VerbRow& verb) {
  std::string text;
  for (const OptionRow& option : verb.options)
    text += format_text(".TP\n{}\n{}\n", heading_of(option), roff(option.help));
  return text;
}

// "pawl queue" has the page pawl-queue.
std::string page_name(const VerbRow& verb) {
  std::string name = verb.path;
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string begin_of(const std::string& name, std::string_view summary,
                     const std::string& version) {
  std::string title = name;
  for (char& c : title)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return format_text(".TH {} 1 \"\" \"pawl {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     roff(title), version, roff(name), roff(summary));
}

// `rows`: the verb of the page, and the verbs inside it.
ManualPage verb_page(std::span<const VerbRow> rows, const std::string& version) {
  CHECK(!rows.empty(), "a page of no verb");
  const VerbRow& verb = rows.front();
  CHECK(!verb.help.empty(), "{} has no help", verb.path);
  ManualPage page{page_name(verb), {}};
  page.text = begin_of(page.name, verb.help, version) + ".SH SYNOPSIS\n";
  for (const VerbRow& row : rows)
    if (rows.size() == 1 || &row != &verb) page.text += synopsis_of(row) + "\n.br\n";
  page.text += ".SH DESCRIPTION\n" + roff(verb.help) + ".\n" + as_written(verb.footer);
  if (rows.size() > 1) page.text += ".SH VERBS\n";
  for (const VerbRow& row : rows.subspan(1)) {
    CHECK(row.path.starts_with(verb.path + " "), "{} is on the page of {}", row.path, verb.path);
    CHECK(!row.help.empty(), "{} has no help", row.path);
    page.text += format_text(".SS {}\n{}.\n", roff(row.path), roff(row.help)) + options_of(row) +
                 as_written(row.footer);
  }
  page.text += ".SH OPTIONS\n" + options_of(verb) + ".SH SEE ALSO\n" + bold("pawl") + "(1)\n";
  return page;
}

ManualPage program_page(std::span<const VerbRow> verbs, const std::string& version) {
  const VerbRow& program = verbs.front();
  std::string_view summary = program.help;  // "pawl: a message queue."
  if (const std::size_t colon = summary.find(": "); colon != summary.npos)
    summary.remove_prefix(colon + 2);
  if (summary.ends_with('.')) summary.remove_suffix(1);
  std::string text = begin_of(program.path, summary, version);
  text += format_text(".SH SYNOPSIS\n{} {} [{}...]\n", bold(program.path), italic("VERB"),
                      italic("OPTION"));
  text += ".SH DESCRIPTION\n" + roff(program.footer) + "\n.SH EXAMPLES\n.nf\n";
  text.append(first_steps).append(".fi\n.SH VERBS\n");
  for (const VerbRow& verb : verbs)
    if (is_inside(verb, program))
      text += format_text(".TP\n{}(1)\n{}.\n", bold(page_name(verb)), roff(verb.help));
  text += ".SH OPTIONS\n" + options_of(program);
  return {program.path, text.append(files_and_pages)};
}

}  // namespace

std::vector<ManualPage> manual_pages(std::span<const VerbRow> verbs, const std::string& version) {
  CHECK(!verbs.empty(), "the first row is the program");
  const VerbRow& program = verbs.front();
  std::vector<ManualPage> pages = {program_page(verbs, version)};
  for (std::size_t begin = 1; begin < verbs.size();) {
    const VerbRow& verb = verbs[begin];
    CHECK(is_inside(verb, program), "{} stands before the verb that contains it", verb.path);
    std::size_t end = begin + 1;
    while (end < verbs.size() && verbs[end].path.starts_with(verb.path + " ")) ++end;
    pages.push_back(verb_page(verbs.subspan(begin, end - begin), version));
    begin = end;
  }
  return pages;
}

}  // namespace pawl
