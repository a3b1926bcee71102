// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/config/serve_keys.h"
#include "tools/doctor/doctor.h"
#include "tools/printer.h"

namespace pawl {
namespace {

Printer::Row row_of(const Finding& finding) {
  Printer::Row row;
  row.cells = {
      {"name", finding.name},
      {"status", std::string(name_of(finding.status))},
      {"what", finding.what, std::string(prefix_of(finding)) + finding.what},
      {"remedy", finding.remedy}
  };
  if (finding.allowed) row.cells.push_back({"allowed", *finding.allowed});
  for (const auto& [name, value] : finding.figures) row.cells.push_back({name, value});
  if (!finding.remedy.empty()) row.note = "-> " + finding.remedy;
  return row;
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  struct Asked {
    DoctorOptions options;
    std::string memory;
    OutputOptions output;
  };
  const auto asked = std::make_shared<Asked>();
  Verb verb =
      line.add_verb("doctor", "Checks this machine and its disk for obstacles, and names remedies");
  verb.option("--data", asked->options.data, "The data directory whose disk is examined")
      .value_name("DIR")
      .show_default();
  verb.option("--seconds", asked->options.disk_seconds,
              "Seconds to measure durable writes; 0: do not measure")
      .check(number(0, 600))
      .show_default();
  verb.option("--shards", asked->options.shards, "Number of shards to serve; 0: one per core")
      .check(whole_number(0, 64))
      .show_default();
  verb.option("--memory", asked->memory, "The server's --memory, to compare with control groups")
      .value_name("SIZE")
      .check([](const std::string& text) {
        return parse_size(text) ? "" : fmt::format("{} is no size; examples: 512MiB, 4GiB", text);
      });
  add_output(verb, asked->output,
             "{name, status, what, remedy}; conditions have \"allowed\", measurements \"writes\", "
             "\"p50_us\", \"p99_us\", \"p999_us\" and \"bytes_per_second\"");
  verb.footer("Exit code 4: pawl cannot serve on this machine.");
  verb.on_given([asked] {
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE fails, and that is a Finding
    asked->options.memory = parse_size(asked->memory).value_or(0);
    const std::vector<Finding> findings = examine(asked->options);
    Printer printer(stdout, asked->output.format(), {"status", "name", "what"});
    for (const Finding& finding : findings) printer.add(row_of(finding));
    const int printed = printer.end();
    const bool failed = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.status == Finding::Status::fail;
    });
    return failed ? exit_check_failed : printed;
  });
}

}  // namespace pawl
