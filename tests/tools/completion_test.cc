// SPDX-License-Identifier: Apache-2.0
#include "tools/completion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

const std::vector<VerbRow> completed_rows = {
    {"pawl",          "pawl: a queue.",         "", {{{"-h", "--help"}, "", "Help", false}}           },
    {"pawl wal",      "Reads logs (of shards)", "", {}                                                },
    {"pawl wal dump",
     "Prints a user's log",                     "",
     {{{"--data"}, "DIR", "The log [path]. More", true},
      {{"--io"}, "auto|uring", "Backend", false}}                                                     },
    {"pawl serve",    "Runs",                   "", {{{"--port"}, "ADDR:PORT", "A port", false, true}}},
};

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << part << "\nin\n" << text;
}

TEST(Completion, OfBashKnowsTheWordsBehindEachVerb) {
  const std::string script = bash_completion(completed_rows);
  expect_part(script, "'pawl') _pawl_words 'wal serve -h --help' ;;");
  expect_part(script, "'pawl wal') _pawl_words 'dump' ;;");
  expect_part(script, "'pawl wal dump --io') _pawl_words 'auto uring'; return ;;");
  expect_part(script, "'pawl wal dump --data') _pawl_files; return ;;");
  expect_part(script, "'pawl serve --port') :; return ;;");
  expect_part(script,
              "'pawl wal dump') [[ $word == -* ]] || { _pawl_files; return; }; _pawl_words");
}

TEST(Completion, OfZshQuotesTextsForItsArguments) {
  const std::string script = zsh_completion(completed_rows);
  EXPECT_TRUE(script.starts_with("#compdef pawl\n"));
  expect_part(script, "'dump:Prints a user'\\''s log'\n");
  expect_part(script, "'(--data)--data=[The log \\[path\\]]:DIR:_files'\n        ':DIR:_files'\n");
  expect_part(script, "'(--io)--io=[Backend]:value:(auto uring)'");
  expect_part(script, "'(-h --help)-h[Help]'\n        '(-h --help)--help[Help]'");
  expect_part(script, "'*--port=[A port]:ADDR\\:PORT: '");
}

TEST(Completion, OfFishHasOneLineForEachWord) {
  const std::string script = fish_completion(completed_rows);
  expect_part(script, "\ncomplete -c pawl -n '__pawl_at pawl' -a wal -d 'Reads logs'\n");
  expect_part(script, "-n '__pawl_at pawl wal' -a dump -d 'Prints a user\\'s log'\n");
  expect_part(script, "-n '__pawl_at pawl' -s h -l help -d 'Help'\n");
  expect_part(script, " -l io -x -a 'auto uring' -d 'Backend'\n");
  expect_part(script, " -l data -r -F -d 'The log [path]'\n");
  expect_part(script, "\ncomplete -c pawl -n '__pawl_at pawl wal dump' -F\n");
}

}  // namespace
}  // namespace pawl
