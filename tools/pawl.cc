// SPDX-License-Identifier: Apache-2.0
// pawl: one program, one verb per task. `pawl serve` is the server.
#include <string>
#include <string_view>
#include <vector>

#include "tools/commands.h"

int main(int argc, char** argv) {
  pawl::CommandLine line(
      "pawl: a message queue for one Linux server, with the semantics of Amazon SQS.",
      PAWL_VERSION);
  pawl::add_serve_command(line);
  pawl::add_bench_command(line);
  pawl::add_config_command(line);
  pawl::add_check_command(line);
  pawl::add_doctor_command(line);
  pawl::add_wal_command(line);
  pawl::add_queue_command(line);
  pawl::add_send_command(line);
  pawl::add_receive_command(line);
  pawl::add_delete_command(line);
  pawl::add_extend_command(line);
  pawl::add_cancel_command(line);
  pawl::add_reschedule_command(line);
  pawl::add_dlq_command(line);
  pawl::add_topic_command(line);
  pawl::add_move_command(line);
  pawl::add_peek_command(line);
  pawl::add_explain_command(line);
  pawl::add_top_command(line);
  pawl::add_metrics_command(line);
  pawl::add_schedule_command(line);
  pawl::add_replay_command(line);
  pawl::add_errors_command(line);
  pawl::add_version_command(line);
  pawl::add_manual_command(line);
  line.footer(
      "`pawl <verb> --help` describes a verb. Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 "
      "check "
      "failed, 130 interrupted.");
  // `pawl help VERB` is `pawl VERB --help`.
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  return line.run(static_cast<int>(words.size()), words.data());
}
