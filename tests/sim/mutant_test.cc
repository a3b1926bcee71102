// SPDX-License-Identifier: Apache-2.0
#include "core/base/mutant.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "core/base/enum_name.h"
#include "tests/sim/mutants.h"

namespace pawl::sim {
namespace {

using Names = std::set<std::string, std::less<>>;

// The enumerators of Mutant, without `none`.
Names enumerators() {
  constexpr auto names = enum_names<Mutant, 128>();
  Names all(names.begin() + 1, names.end());
  all.erase("");
  return all;
}

TEST(Mutants, AreSelectableByTheirNamesEachOnce) {
  Names names;
  for (const MutantName& known : mutant_names) EXPECT_TRUE(names.emplace(known.name).second);
  EXPECT_EQ(names, enumerators());
}

// Adds the names in MUTANT(name) of a file.
void add_uses(const std::filesystem::path& path, Names& used) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view macro = "MUTANT(";
  for (std::size_t at = 0; (at = text.find(macro, at)) != text.npos;) {
    at += macro.size();
    used.insert(text.substr(at, text.find(')', at) - at));
  }
}

TEST(Mutants, AreBuiltIntoTheSource) {
  Names used;
  for (const char* folder : {"core", "wal", "net/engine"}) {
    const std::filesystem::path path = std::string(PAWL_SOURCES "/") + folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.path().filename() != "mutant.h")
        add_uses(entry.path(), used);
  }
  EXPECT_EQ(used, enumerators());
}

TEST(Mutants, AreActiveOneAtATime) {
  EXPECT_EQ(active_mutant, Mutant::none);
  active_mutant = Mutant::forget_head;
  EXPECT_TRUE(MUTANT(forget_head));
  EXPECT_FALSE(MUTANT(forget_purge_record));
  active_mutant = Mutant::none;
  EXPECT_FALSE(MUTANT(forget_head));
}

}  // namespace
}  // namespace pawl::sim
