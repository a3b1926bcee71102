// SPDX-License-Identifier: Apache-2.0
#include "tools/manual.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/command_line.h"

namespace pawl {
namespace {

const std::vector<VerbRow> rows = {
    {"pawl",          "pawl: a queue.", "Exit codes: 0 ok.",                   {{{"-h", "--help"}, "", "Help", false}}},
    {"pawl wal",      "Reads logs",     "",                                    {}                                     },
    {"pawl wal dump",
     "Prints a log",                    ".begins with a dot\n'and a quote \\",
     {{{"--data"}, "DIR", "The log", true}, {{"--io"}, "auto|uring", "Backend", false}}                               },
    {"pawl serve",    "Runs",           "",                                    {{{"--port"}, "N", "A port", false}}   },
};

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << part << "\nin\n" << text;
}

TEST(Manual, ThePageOfTheProgramListsTheVerbs) {
  const std::vector<ManualPage> pages = manual_pages(rows, "0.1.0");
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].name, "pawl");
  const std::string& page = pages[0].text;
  EXPECT_TRUE(page.starts_with(".TH PAWL 1 \"\" \"pawl 0.1.0\""));
  expect_in(page, "\npawl \\- a queue\n");
  expect_in(page, ".TP\n\\fBpawl\\-wal\\fR(1)\nReads logs.\n");
  expect_in(page, ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nHelp\n");
  EXPECT_EQ(page.find("dump"), page.npos);
}

TEST(Manual, ThePageOfAVerbHasTheVerbsInsideItWithTheirOptions) {
  const ManualPage page = manual_pages(rows, "0.1.0")[1];
  EXPECT_EQ(page.name, "pawl-wal");
  EXPECT_TRUE(page.text.starts_with(".TH PAWL\\-WAL 1 "));
  expect_in(page.text, "\npawl\\-wal \\- Reads logs\n");
  expect_in(page.text,
            ".SH SYNOPSIS\n\\fBpawl wal dump\\fR [\\fIDIR\\fR] [\\fIOPTION\\fR...]\n.br\n");
  expect_in(page.text, ".SS pawl wal dump\nPrints a log.\n");
  expect_in(page.text, ".TP\n\\fB\\-\\-io\\fR \\fIauto|uring\\fR\nBackend\n");
}

TEST(Manual, ThePageOfAVerbWithoutOthersHasItsOptions) {
  const ManualPage page = manual_pages(rows, "0.1.0")[2];
  EXPECT_EQ(page.name, "pawl-serve");
  expect_in(page.text, ".SH SYNOPSIS\n\\fBpawl serve\\fR [\\fIOPTION\\fR...]\n");
  expect_in(page.text, ".SH OPTIONS\n.TP\n\\fB\\-\\-port\\fR \\fIN\\fR\nA port\n");
  EXPECT_EQ(page.text.find(".SH VERBS"), page.text.npos);
}

TEST(Manual, ThePageBeginsWithExamplesAndEndsWithFiles) {
  const std::string page = manual_pages(rows, "0.1.0").front().text;
  const std::size_t examples = page.find("\n.SH EXAMPLES\n.nf\npawl check\n");
  EXPECT_LT(examples, page.find("\n.SH VERBS\n"));
  expect_in(page, "\n.SH FILES\n.TP\n\\fI/etc/pawl/pawl.toml\\fR\n");
  EXPECT_TRUE(page.ends_with(".BR journalctl (1)\n"));
}

TEST(Manual, TextThatLooksLikeARequestIsText) {
  expect_in(manual_pages(rows, "0.1.0")[1].text, "\n\\&.begins with a dot\n\\&'and a quote \\e\n");
}

TEST(CommandLineVerbs, AreThoseOfTheHelpTextInTheirOrder) {
  CommandLine line("pawl: a queue.", "0.1.0");
  std::string value;
  Verb outer = line.add_verb("wal", "Reads logs");
  outer.add_verb("dump", "Prints a log").option("DIR,--data", value, "The log");
  line.add_verb("secret", "Hidden").hide();
  const std::vector<VerbRow> verbs = line.verbs();
  ASSERT_EQ(verbs.size(), 3u);
  EXPECT_EQ(verbs[0].path, "pawl");
  EXPECT_EQ(verbs[2].path, "pawl wal dump");
  const OptionRow& option = verbs[2].options.back();
  EXPECT_EQ(option.names, std::vector<std::string>{"--data"});
  EXPECT_EQ(option.value, "DIR");
  EXPECT_TRUE(option.positional);
}

}  // namespace
}  // namespace pawl
