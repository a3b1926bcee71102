#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/house counts as it says: each measure on a small text."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

HOUSE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "house"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("house", str(HOUSE))
house = importlib.util.module_from_spec(importlib.util.spec_from_loader("house", loader))
loader.exec_module(house)

HEADER = """
class Queue {
 public:
  explicit Queue(int a);  // f(x)
  int size() const { return count(1); }
  static_assert(sizeof(int) == 4);
  using F = void(int);
  friend void look(Queue&);
  struct Row {
    void move();
  };

 private:
  int count(int of) const;
  int size_ = 0;
};
"""


class House(unittest.TestCase):
    def test_circles_are_found_once(self):
        edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
        self.assertEqual(house.circles(edges), [["a", "b", "c"]])
        self.assertEqual(house.circles({"a": {"b"}, "b": set()}), [])

    def test_functions_of_a_class_are_counted_without_those_of_nested_ones(self):
        self.assertEqual(dict(house.classes(house.bare(HEADER))), {"Queue": 3, "Row": 1})

    def test_the_length_of_a_function_is_from_its_name_to_its_brace(self):
        lines = ["namespace x {", "void f(int a,", "       int b) {", "  g();", "}", "int g();", "int h() { return 1; }", "}"]
        self.assertEqual(list(house.functions(lines))[0], (2, 4))

    def test_a_class_with_an_attribute_is_no_function(self):
        text = 'class [[gnu::visibility("default")]] Queue {\n  int size();\n};'
        self.assertEqual(list(house.functions(text.split("\n"))), [])
        self.assertEqual(dict(house.classes(text)), {"Queue": 1})

    def test_an_atomic_operation_names_its_order(self):
        code = ("std::atomic<int> a{0}; std::atomic<bool> b = false; int c = a.load(std::memory_order_relaxed);\n"
                "a.fetch_add(f(1),\n  std::memory_order_release);\nif (b.load()) a.store(g(2));\n++a;\nb = true;\nc = 1; d == a;\n")
        self.assertEqual(sorted(house.unordered_atomics(code)), ["++a;", ".load()", ".store(g(2))", "b = true;"])

    def test_a_print_to_stderr_is_found_in_each_of_its_forms(self):
        code = "fmt::print(stderr, x);\nstd::cerr << x;\nwrite(STDERR_FILENO, x, 1);\nperror(x);\nemit(x);\nint stderr_lines;\n"
        self.assertEqual(house.prints_to_stderr(code), code.split("\n")[:4])

    def test_comments_and_strings_are_no_code(self):
        self.assertEqual(house.bare('a("CHECK(x)");  // CHECK(y)\nb'), 'a("");  \nb')

    def test_a_tree_is_measured(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            files = {
                "core/shard/shard.h": '// SPDX-License-Identifier: Apache-2.0\n#include "core/shard/a.h"\nCHECK(1);\n',
                "core/shard/a.h": '#include "core/shard/shard.h"\n',
                "core/shard/a.cc": "x\n" * 501,
                "wal/log.h": '#include "core/shard/a.h"\n',
                "net/io/print.cc": 'fmt::print(stderr, "{}", "stderr");\nint errors;  // stderr\n',
                "net/events/print.cc": 'fmt::print(stderr, "");\n',
                "net/client/examples/print.cc": 'fmt::print(stderr, "");\n',
                "tests/core/a_test.cc": "TEST(A, IsThere) {}\nTEST_F(B,\n       IsThereToo) {}",
                "tests/FOUND.md": "`A.IsThere` `B.IsThere*` `A.IsGone` `A.IsTh`",
                "tests/x/CMakeLists.txt": "add(${PROJECT_SOURCE_DIR}/wal/log.cc)",
            }
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            with contextlib.redirect_stdout(io.StringIO()):  # it says that the tree has no history
                figures, details = house.measure(root)
            self.assertEqual(details["include circles inside rooms"], ["core/shard/a core/shard/shard"])
            self.assertEqual(details["files over 500 lines"], ["core/shard/a.cc (501)"])
            self.assertEqual(details["production files that tests compile by path"], ["wal/log.cc"])
            self.assertEqual(details["modules without a test file of their name"], ["core/shard/shard.h", "wal/log.h"])
            self.assertEqual(figures["lines of core/shard/shard.h"], 3)
            self.assertEqual(details["tests named in FOUND.md that do not exist"], ["A.IsGone", "A.IsTh"])
            self.assertEqual(details["prints to stderr in net"], ['net/io/print.cc: fmt::print(stderr, "", "");'])
            self.assertEqual(len(details["sources without a license line"]), 7)
            self.assertNotIn("core/shard/shard.h", details["sources without a license line"])
            self.assertEqual(figures["two-way pairs of rooms"], 0)

    def test_a_folder_is_a_room(self):
        rooms = {"proto/call.h": "proto", "proto/sqs/call.h": "proto/sqs", "net/io/ring.h": "net/io", "core/shard/shard.h": "core/shard",
                 "wal/repair/plan.h": "wal/repair", "wal/log.h": "wal"}
        for path, room in rooms.items():
            self.assertEqual(house.room_of(pathlib.Path(path)), room)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(bool(failed))
