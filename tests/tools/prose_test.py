#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/prose refuses the comments and subjects that it should, and lets the others through."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROSE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "prose"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("prose", str(PROSE))
prose = importlib.util.module_from_spec(importlib.util.spec_from_loader("prose", loader))
loader.exec_module(prose)

LONG = "x " * 60
# file, its text, part of the complaint; "" where there is none
CASES = [
    ("a.cc", "// What is kept.\n", 'begins with "What"'),
    ("a.cc", "// Who waits.\n", 'begins with "Who"'),
    ("a.cc", "// Of a slot.\n", 'begins with "Of"'),
    ("a.cc", "// One of the rows.\n", 'begins with "One of"'),
    ("a.cc", "// One row.\n", ""),
    ("a.cc", "// Offsets of rows.\n", ""),
    ("a.cc", "int a;  // What is kept.\n", 'begins with "What"'),
    ("a.cc", "// The rows,\n// What they hold.\n", ""),
    ("a.cc", "// At most ten of them.\n", 'ends in "of them"'),
    ("a.cc", "// At most ten of them\n// are kept.\n", ""),
    ("a.cc", 'f("http://x // What");\n', ""),
    ("a.cc", f"// {LONG}\n", "columns"),
    ("a.cc", f"// {LONG}https://example.com\n", ""),
    ("a.cc", f"// | {LONG}|\n", ""),
    ("a.cc", f'f("{LONG}");\n', ""),
    ("a.py", "# Who waits.\n", 'begins with "Who"'),
    ("a.py", 's = "a # What"\n', ""),
    ("a", "#!/bin/bash\n# What runs.\n", 'begins with "What"'),
    ("a", "What runs.\n", ""),
    ("CMakeLists.txt", "# What runs.\n", 'begins with "What"'),
    ("a.txt", "# What runs.\n", ""),
]
SUBJECTS = [
    ("core: count messages in flight", ""),
    ("core: say what is in flight", '"what"'),
    ("core: Which queue waits", '"Which"'),
    ("core: " + "x" * 55, "61 characters"),
]


class Prose(unittest.TestCase):
    def test_each_file(self):
        for name, text, complaint in CASES:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as root:
                (pathlib.Path(root) / name).write_text(text)
                done = subprocess.run([sys.executable, PROSE, root], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1 if complaint else 0, done.stdout)
                self.assertIn(complaint, done.stdout)

    def test_files(self):
        with tempfile.TemporaryDirectory() as root:
            good, bad = pathlib.Path(root) / "good.cc", pathlib.Path(root) / "bad.cc"
            good.write_text("// A slot.\n")
            bad.write_text("// What is kept.\n")
            for files, status in (([good], 0), ([bad], 1), ([good, bad], 1), ([bad.with_name("no.cc")], 2)):
                with self.subTest(files=files):
                    done = subprocess.run([sys.executable, PROSE, *files], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_each_subject(self):
        for subject, complaint in SUBJECTS:
            found = list(prose.wrong_subjects([subject]))
            self.assertEqual(len(found), 1 if complaint else 0, found)
            self.assertTrue(not complaint or complaint in found[0], found)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(bool(failed))
