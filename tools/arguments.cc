// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "proto/text/suggest.h"

namespace pawl {
namespace {

// Verbs and flags of other programs, with a hint to pawl's own.
struct Synonyms {
  std::string_view words;  // each with a space before and after it
  std::string_view hint;
};

constexpr Synonyms verb_synonyms[] = {
    {" status health info ",
     "`pawl check` shows the health of a running server; its admin port serves /healthz and "
     "/metrics."                                                                                                                                  },
    {" ps stats monitor watch ",                                                    "`pawl top` shows which queues are in trouble, and why."      },
    {" stop shutdown quit kill ",                                                   "SIGTERM stops a server: `kill PID`, or `systemctl stop`."    },
    {" restart reload ",
     "SIGHUP reloads keys and certificate: `kill -HUP PID`. For other settings, stop the server "
     "with SIGTERM and run `pawl serve` again."                                                                                                   },
    {" start run server up daemon ",                                                "`pawl serve` starts the server."                             },
    {" create list ls queues purge rm create-queue list-queues ",
     "The verb for queues is `pawl queue create|ls|info|set|purge|rm`."                                                                           },
    {" produce put push enqueue send-message ",                                     "`pawl send QUEUE BODY` sends a message."                     },
    {" publish pub subscribe sub unsubscribe topics sns create-topic list-topics ",
     "`pawl send QUEUE BODY` sends a message; the verb for topics is `pawl topic "
     "create|ls|subscribe|publish`."                                                                                                              },
    {" migrate copy transfer drain ",
     "`pawl move` moves messages to another endpoint; `pawl dlq redrive` returns dead letters."                                                   },
    {" consume poll get pop dequeue receive-message ",                              "`pawl receive QUEUE` receives messages."                     },
    {" unsend revoke recall ",                                                      "`pawl cancel QUEUE ID` deletes a message that waits."        },
    {" snooze postpone promote ",
     "`pawl reschedule QUEUE ID --in DURATION` sets when a waiting message is delivered; 0: at "
     "once."                                                                                                                                      },
    {" cron crontab schedules timer timers next-fire pause resume run-now ",
     "The verb for schedules is `pawl schedule create|ls|pause|resume|run-now|rm`; `pawl schedule "
     "next EXPRESSION` shows when an expression fires."                                                                                           },
    {" settings configuration conf configtest ",
     "The verb for settings is `pawl config show|check|diff`."                                                                                    },
    {" verify dump repair fsck ",                                                   "The verbs for the log are `pawl wal verify|dump|repair DIR`."},
};

constexpr Synonyms flag_synonyms[] = {
    {" --port -p --bind -b --listen -l --host --address --addr ",
     "--http ADDR:PORT is the address for SQS clients; --binary and --admin are the other ports."                           },
    {" -d --dir --data-dir --datadir --path --directory ",        "--data DIR names the data directory."                    },
    {" -c --conf --config-file ",                                 "--config FILE names a TOML file."                        },
    {" --config ",                                                "Name the file without a flag: `pawl config check FILE`." },
    {" --threads --workers --cores ",                             "--shards N sets the number of threads that serve queues."},
    {" --endpoint --endpoint-url -u ",
     "--url names an SQS endpoint or a queue of it, --binary a binary port of pawl."                                        },
    {" --log-level --verbose --debug --quiet -q ",
     "There are no log levels; the log is written to stderr."                                                               },
    {" --binary ",                                                "--url http://HOST:PORT names the HTTP port."             },
    {" -v -V ",                                                   "--version prints the version."                           },
};

std::string hint_for(std::string_view word, std::span<const Synonyms> all,
                     std::span<const std::string> known) {
  const std::string wanted = fmt::format(" {} ", word);
  for (const auto& [words, hint] : all)
    if (words.find(wanted) != words.npos) return fmt::format(" {}", hint);
  return suggestion(word, known);
}

template <typename Number>
bool read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ValueCheck whole_number(std::uint64_t least, std::uint64_t most) {
  return [=](const std::string& text) {
    std::uint64_t value = 0;
    if (read_number(text, value) && value >= least && value <= most) return std::string();
    return fmt::format("\"{}\" is not a whole number from {} to {}.", text, least, most);
  };
}

ValueCheck number(double least, double most) {
  return [=](const std::string& text) {
    double value = 0;
    if (read_number(text, value) && value >= least && value <= most) return std::string();
    return fmt::format("\"{}\" is not a number from {} to {}.", text, least, most);
  };
}

std::string hint_for_verb(std::string_view word, std::span<const std::string> known) {
  return hint_for(word, verb_synonyms, known);
}

std::string hint_for_flag(std::string_view word, std::span<const std::string> known) {
  return hint_for(word, flag_synonyms, known);
}

}  // namespace pawl
