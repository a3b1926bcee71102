// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "net/events/event_code.h"
#include "proto/text/suggest.h"
#include "tools/commands.h"
#include "tools/printer.h"

namespace pawl {
namespace {

struct ErrorsRequest {
  std::string code;
  OutputOptions output;
};

Printer::Row row_for(const EventRow& row) {
  return {
      .cells = {{"code", std::string(name_of(row.code))},
                {"level", std::string(name_of(row.level))},
                {"message", std::string(row.message)},
                {"when", std::string(row.when)},
                {"remedy", std::string(row.remedy)}}
  };
}

int explain_code(const std::string& name) {
  const auto code = event_code_of(name);
  if (!code) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < event_codes; ++i)
      known.emplace_back(name_of(static_cast<EventCode>(i)));
    fmt::print(stderr, "error: \"{}\" is no code of an event.{} `pawl errors` lists all codes.\n",
               name, suggestion(name, known));
    return exit_usage;
  }
  const EventRow& row = row_of(*code);
  fmt::print("{} ({}): {}\nwhen:   {}\nremedy: {}\n", name, name_of(row.level), row.message,
             row.when, row.remedy);
  return exit_ok;
}

int list_errors(const ErrorsRequest& asked) {
  const OutputFormat format = asked.output.format();
  if (!asked.code.empty() && format == OutputFormat::table) return explain_code(asked.code);
  const auto only = event_code_of(asked.code);
  if (!asked.code.empty() && !only) return explain_code(asked.code);
  Printer printer(stdout, format, {"code", "level", "message"});
  for (std::size_t i = 0; i < event_codes; ++i) {
    const auto code = static_cast<EventCode>(i);
    if (!only || *only == code) printer.add(row_for(row_of(code)));
  }
  return printer.end();
}

}  // namespace

void add_errors_command(CommandLine& line) {
  const auto asked = std::make_shared<ErrorsRequest>();
  Verb verb = line.add_verb("errors", "Explains the codes of the server's log and health checks");
  verb.option("CODE", asked->code, "For example disk_full; without it all codes are listed");
  add_output(verb, asked->output, "code, level, message, when, remedy");
  verb.on_given([asked] { return list_errors(*asked); });
}

}  // namespace pawl
