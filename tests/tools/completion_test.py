#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The completions of bash, zsh and fish, which each shell itself uses, and the manual pages.

A shell that is missing is skipped with a message; tools/deps check installs all three.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
SECONDS = 60

# A line, words that are completed, words that are not.
LINES = [
    ("pawl que", ["queue"], ["serve", "--help"]),
    ("pawl ", ["serve", "bench", "queue", "wal"], ["create", "manual"]),
    ("pawl queue ", ["create", "ls", "info", "set", "purge", "rm", "apply"], ["serve", "dump"]),
    ("pawl queue create --", ["--set", "--tag", "--dead-letters", "--url"], ["--names", "--data"]),
    ("pawl queue create orders --de", ["--dead-letters"], ["--set"]),
    ("pawl queue ls --url http://127.0.0.1:9324 --na", ["--names"], ["--set"]),
    ("pawl serve --io ", ["auto", "uring", "threads"], ["--data", "none"]),
    ("pawl serve --auth s", ["sigv4"], ["none"]),
    ("pawl queue ls -o ", ["table", "json", "jsonl"], ["--names"]),
    ("pawl peek orders --state in", ["in-flight"], ["visible"]),
    ("pawl serve --http ", [], ["--data", "queue", "there.toml"]),
    ("pawl serve --config th", ["there.toml"], ["--data"]),
    ("pawl wal dump th", ["there.toml"], ["--help"]),
    ("pawl queue info th", [], ["there.toml"]),
    ("pawl top --sort old", ["oldest"], ["queue"]),
]

BASH = """
compopt() { :; }
source "$1"
IFS=' ' read -ra COMP_WORDS <<< "$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_pawl
printf '%s\\n' "${COMPREPLY[@]}"
"""

# The words that the shell would show are printed instead, with a mark before each.
ZSH = r"""
PS1='ready> '
fpath=($PWD $fpath)
autoload -U compinit
compinit -u -D
compadd() {
  local -a found
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  builtin compadd -A found "$@"
  local word
  for word in $found; do print -r -- "<<$word>>"; done
}
finish() { print "<end>"; }
comppostfuncs=(finish)
asked() { comppostfuncs=(finish); zle complete-word; zle kill-whole-line; }
zle -N asked
bindkey '^I' asked
print "loaded"$((1 + 1))
"""


def completion(shell):
    return subprocess.run([PAWL, "manual", shell], check=True, capture_output=True, text=True, timeout=SECONDS).stdout


def flags_of_verbs():
    """The flags in the help text of each verb without verbs of its own."""
    def walk(path):
        text = subprocess.run([PAWL, *path, "--help"], check=True, capture_output=True, text=True, timeout=SECONDS).stdout
        inner = re.findall(r"^  ([a-z0-9]+) ", text.partition("Subcommands:")[2], re.M)
        for verb in inner:
            yield from walk([*path, verb])
        if not inner:
            yield " ".join(["pawl", *path]), set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", text, re.M))
    return dict(walk([]))


class ZshTerminal:
    """zsh on a terminal of its own: only there it completes."""

    def __init__(self, folder):
        pid, self.master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": folder, "COLUMNS": "200"})
        self.pid = pid
        self.text = ""
        pathlib.Path(folder, "harness").write_text(ZSH)
        self.type("source ./harness\n")
        self.wait_for("loaded2")

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, part):
        end = time.monotonic() + SECONDS
        while part not in self.text:
            if time.monotonic() > end or not select.select([self.master], [], [], SECONDS)[0]:
                raise AssertionError(f"zsh did not print {part}: {self.text}")
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def complete(self, line):
        self.text = ""
        self.type(line + "\t")
        self.wait_for("<end>")
        return re.findall(r"<<(.*?)>>", self.text)

    def close(self):
        os.close(self.master)
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        pathlib.Path(self.place, "there.toml").touch()

    def shell(self, name, file):
        """Writes the completion; skips the test if there is no such shell."""
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed; tools/deps check installs it")
        pathlib.Path(self.place, file).write_text(completion(name))

    def expect_lines(self, complete):
        for line, wanted, unwanted in LINES:
            with self.subTest(line):
                words = [word.removesuffix("=") for word in complete(line)]
                self.assertLessEqual(set(wanted), set(words), line)
                self.assertFalse(set(unwanted) & set(words), words)

    def expect_flags(self, complete):
        """What --help lists is completed."""
        flags = flags_of_verbs()
        self.assertGreater(len(flags), 30)
        for verb, wanted in flags.items():
            with self.subTest(verb):
                words = {word.removesuffix("=") for word in complete(verb + " --")}
                self.assertEqual({word for word in words if word.startswith("--")}, wanted)

    def run_shell(self, *words):
        return subprocess.run(words, cwd=self.place, capture_output=True, text=True, timeout=SECONDS, check=True,
                              env={**os.environ, "HOME": self.place, "XDG_CONFIG_HOME": self.place}).stdout.splitlines()

    def test_bash_completes(self):
        self.shell("bash", "pawl.bash")
        def complete(line):
            return self.run_shell("bash", "-c", BASH, "bash", "pawl.bash", line)
        self.expect_lines(complete)
        self.expect_flags(complete)

    def test_fish_completes(self):
        self.shell("fish", "pawl.fish")
        def complete(line):
            script = "source pawl.fish; complete -C $argv[1]"
            return [row.split("\t")[0] for row in self.run_shell("fish", "--no-config", "-c", script, line)]
        self.expect_lines(complete)
        self.expect_flags(complete)

    def test_fish_shows_a_description(self):
        self.shell("fish", "pawl.fish")
        rows = self.run_shell("fish", "--no-config", "-c", "source pawl.fish; complete -C 'pawl qu'")
        self.assertEqual(len(rows), 1, rows)
        self.assertRegex(rows[0], r"^queue\t\w+")

    def test_zsh_completes(self):
        self.shell("zsh", "_pawl")
        self.run_shell("zsh", "-n", "_pawl")
        zsh = ZshTerminal(self.place)
        self.addCleanup(zsh.close)
        self.expect_lines(zsh.complete)
        self.expect_flags(zsh.complete)

    def test_the_script_of_zsh_can_be_sourced(self):
        self.shell("zsh", "_pawl")
        script = "autoload -U compinit; compinit -u -D; source ./_pawl; print $_comps[pawl]"
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script), ["_pawl"])

    def test_another_kind_is_refused(self):
        done = subprocess.run([PAWL, "manual", "tcsh"], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("man, bash, zsh or fish", done.stderr)


class Manual(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        subprocess.run([PAWL, "manual", "man", "--out", place.name], check=True, timeout=SECONDS)
        self.pages = sorted(pathlib.Path(place.name).glob("*.1"))

    def page(self, verb):
        return next(page for page in self.pages if page.stem == "-".join(verb.split()[:2]))

    def test_every_flag_of_a_verb_is_on_its_page(self):
        for verb, flags in flags_of_verbs().items():
            text = self.page(verb).read_text().replace("\\-", "-")
            self.assertIn(f"\\fB{verb}\\fR", text)
            for flag in flags:
                self.assertIn(f"\\fB{flag}\\fR", text, verb)

    def test_the_page_of_the_program_names_the_others(self):
        text = self.pages[-1].read_text().replace("\\-", "-")
        self.assertEqual(self.pages[-1].name, "pawl.1")
        self.assertEqual(set(re.findall(r"^\\fB(pawl-\w+)\\fR\(1\)$", text, re.M)), {page.stem for page in self.pages[:-1]})

    def test_a_page_is_printed_alone(self):
        done = subprocess.run([PAWL, "manual", "man", "pawl-queue"], check=True, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.stdout, self.page("pawl queue").read_text())
        done = subprocess.run([PAWL, "manual", "man", "queue"], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("pawl-VERB", done.stderr)
        done = subprocess.run([PAWL, "manual", "man", "--out", "/nonexistent"], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/pawl.1 cannot be written: No such file or directory", done.stderr)

    def test_man_has_no_warnings(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed; tools/deps check installs it")
        for page in self.pages:
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)], capture_output=True, text=True,
                                  timeout=SECONDS, check=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
            self.assertEqual(done.stderr, "", page)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
