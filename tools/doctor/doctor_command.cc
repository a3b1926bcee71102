// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "proto/text/json.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/doctor/doctor.h"
#include "tools/serve_config.h"

namespace pawl {
namespace {

void print_table(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{:<5} {:<15} {}{}\n", name_of(finding.status), finding.name, prefix_of(finding),
               finding.what);
    if (!finding.remedy.empty()) fmt::print("      {:<15} -> {}\n", "", finding.remedy);
  }
}

void print_json(const std::vector<Finding>& findings) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    json.member("name", finding.name);
    json.member("status", name_of(finding.status));
    json.member("what", finding.what);
    json.member("remedy", finding.remedy);
    if (finding.allowed) json.member("allowed", *finding.allowed);
    for (const auto& [name, value] : finding.figures) json.member(name, value);
    json.end_object();
  }
  json.end_array();
  fmt::print("{}\n", text);
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  struct Asked {
    DoctorOptions options;
    std::string memory;
    bool json = false;
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
  verb.flag("--json", asked->json,
            "Print one JSON array of {name, status, what, remedy}; conditions have \"allowed\", "
            "measurements \"writes\", \"p50_us\", \"p99_us\", \"p999_us\" and "
            "\"bytes_per_second\"");
  verb.footer("Exit code 4: pawl cannot serve on this machine.");
  verb.on_given([asked] {
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE fails, and that is a Finding
    asked->options.memory = parse_size(asked->memory).value_or(0);
    const std::vector<Finding> findings = examine(asked->options);
    asked->json ? print_json(findings) : print_table(findings);
    const bool failed = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.status == Finding::Status::fail;
    });
    return failed ? exit_check_failed : exit_ok;
  });
}

}  // namespace pawl
