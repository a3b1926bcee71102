// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "tools/suggest.h"

namespace pawl {
namespace {

// Verbs and flags of other programs, with a hint to pawl's own.
struct Synonyms {
  std::string_view words;  // each with a space before and after it
  std::string_view hint;
};

constexpr Synonyms verb_synonyms[] = {
    {" help ",                                                            "`pawl --help` lists the verbs, and `pawl VERB --help` the flags of one."},
    {" status health info ps stats ",
     "A running server answers on its admin port: `curl http://127.0.0.1:9325/healthz`, or "
     "/metrics."                                                                                                                                   },
    {" stop shutdown quit kill ",
     "A server ends when it is sent SIGTERM: `kill PID`, or `systemctl stop`."                                                                     },
    {" restart reload ",
     "SIGHUP reloads keys and certificate: `kill -HUP PID`. For the rest stop the server with "
     "SIGTERM and run `pawl serve` again."                                                                                                         },
    {" start run server up daemon ",                                      "`pawl serve` starts the server."                                        },
    {" send receive delete create list queues create-queue list-queues ",
     "Queues are used through any SQS client: `aws --endpoint-url http://127.0.0.1:9324 sqs ...`."                                                 },
    {" verify dump repair fsck ",
     "The log has verbs of its own: `pawl wal verify|dump|repair DIR`."                                                                            },
};

constexpr Synonyms flag_synonyms[] = {
    {" --port -p --bind -b --listen -l --host --address --addr ",
     "--http ADDR:PORT says where SQS clients connect; --binary and --admin are the other ports."                 },
    {" -d --dir --data-dir --datadir --path --directory ",        "--data DIR names the data directory."          },
    {" -c --conf --config-file ",                                 "--config FILE names a TOML file."              },
    {" --threads --workers --cores ",                             "--shards N says how many threads serve queues."},
    {" --endpoint --endpoint-url -u ",
     "--url names a queue of an SQS endpoint, --binary a binary port of pawl."                                    },
    {" --log-level --verbose --debug --quiet -q ",                "There are no log levels; stderr has the log."  },
    {" -v -V ",                                                   "--version prints the version."                 },
};

std::string hint_for(std::string_view word, std::span<const Synonyms> all) {
  const std::string wanted = fmt::format(" {} ", word);
  for (const auto& [words, hint] : all)
    if (words.find(wanted) != words.npos) return fmt::format(" {}", hint);
  return {};
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The innermost verb that was given: `dump` for `pawl wal dump`.
const CLI::App& chosen(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : chosen(*verbs.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pawl" : path_of(*app.get_parent()) + " " + app.get_name();
}

std::string explain_extra(const CLI::App& at, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  const bool is_flag = word.starts_with("-");
  const std::vector<std::string> known = is_flag ? flags_of(at) : verbs_of(at);
  if (!is_flag && known.empty())
    return fmt::format("{} does not expect \"{}\".", path_of(at), word);
  std::string hint = is_flag ? hint_for(word, flag_synonyms) : hint_for(word, verb_synonyms);
  if (hint.empty()) hint = suggestion(word, known);
  return fmt::format("{} knows no {} \"{}\".{}", path_of(at), is_flag ? "flag" : "verb", word,
                     hint);
}

// Texts of the library: "NAME: 1 required TYPE missing", "NAME is required" and
// "NAME: At Most 1 required but received 2".
std::string explain_option(const CLI::App& at, const std::string& text, bool missing) {
  const std::string name = text.substr(0, text.find_first_of(": "));
  const CLI::Option* const option = at.get_option_no_throw(name);
  if (option == nullptr) return text + ".";
  const std::string type = option->get_type_name();
  const std::string value = type.empty() ? "a value" : type;
  if (missing) return fmt::format("{} needs {}: {}.", path_of(at), name, option->get_description());
  if (text.find("missing") != text.npos)
    return fmt::format("{} needs {} behind it: {}.", name, value, option->get_description());
  return fmt::format("{} takes one value, and was given more. Give it once.", name);
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

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  std::string text = error.what();
  const std::vector<std::string> rest = app.remaining(true);
  const std::string kind = error.get_name();
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!rest.empty() && (extra || kind == "RequiredError")) {
    text = explain_extra(at, rest.front());
  } else if (kind == "RequiredError" && text.find("subcommand") != text.npos) {
    text = fmt::format("{} needs a verb: {}.", path_of(at), fmt::join(verbs_of(at), ", "));
  } else if (kind == "RequiredError" || kind == "ArgumentMismatch") {
    text = explain_option(at, text, kind == "RequiredError");
  }
  return fmt::format("{}\nSee `{} --help`.", text, path_of(at));
}

}  // namespace pawl
