// SPDX-License-Identifier: Apache-2.0
// The verbs of the `pawl` program. Each add_ function adds one verb to the command line.
//
// Errors: to stderr, as `error: what failed, the value, what to do`; exit codes in command_line.h.
// Owner:  main(), one thread.
#pragma once

#include "tools/command_line.h"

namespace pawl {

void add_serve_command(CommandLine& line);
void add_bench_command(CommandLine& line);
void add_config_command(CommandLine& line);
void add_check_command(CommandLine& line);
void add_doctor_command(CommandLine& line);
void add_wal_command(CommandLine& line);
void add_queue_command(CommandLine& line);
void add_send_command(CommandLine& line);
void add_receive_command(CommandLine& line);
void add_delete_command(CommandLine& line);
void add_extend_command(CommandLine& line);
void add_cancel_command(CommandLine& line);
void add_reschedule_command(CommandLine& line);
void add_replay_command(CommandLine& line);
void add_dlq_command(CommandLine& line);
void add_topic_command(CommandLine& line);
void add_move_command(CommandLine& line);
void add_peek_command(CommandLine& line);
void add_explain_command(CommandLine& line);
void add_top_command(CommandLine& line);
void add_metrics_command(CommandLine& line);
void add_schedule_command(CommandLine& line);
void add_errors_command(CommandLine& line);
void add_version_command(CommandLine& line);
void add_manual_command(CommandLine& line);

}  // namespace pawl
