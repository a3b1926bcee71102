# SPDX-License-Identifier: Apache-2.0
"""The first hour of a person who knows SQS and has the package alone: commands in the installed system, their exit codes, and
the sentences that lead on.

    walk(run, settings)

`run(words, code)` runs `pawl` there and returns its output; `settings` is a file there, to be spoiled.
"""
import json
import re
import time

# Words, exit code, parts of the output. {receipt} is the receipt of the last received message.
FIRST_MESSAGE = [
    ("check health", 0, "ok"),
    ("queue create w-orders --dead-letters w-dead", 3, 'there is no queue "w-dead".*pawl queue create'),
    ("queue create w-dead", 0, "/w-dead"),
    ("queue create w-orders --dead-letters w-dead --max-receives 1 --set VisibilityTimeout=1", 0, "/w-orders"),
    ("queue show w-orders", 2, "Its verbs: create, ls, info"),
    ("send w-orders hello", 0, "-"),
    ("receive w-orders -o jsonl", 0, '"body":"hello"'),
    ("delete w-orders {receipt}", 0, ""),
    ("receive w-orders", 0, ""),
]
DEAD_LETTER = [
    ("send w-orders poison", 0, "-"),
    ("receive w-orders", 0, "poison"),
    ("explain w-orders 2", 0, "dead-letter queue w-dead"),
]
REDRIVE = [
    ("receive w-orders", 0, ""),
    ("dlq ls", 0, "w-orders"),
    ("peek w-dead", 0, "poison"),
    ("dlq redrive w-dead", 0, "pawl dlq tasks w-dead"),
]
STUCK = [
    ("queue create w-jobs.fifo --set ContentBasedDeduplication=true", 0, "/w-jobs.fifo"),
    ("send w-jobs.fifo one", 1, "MessageGroupId"),
    ("send w-jobs.fifo one --group a", 0, "-"),
    ("send w-jobs.fifo two --group a", 0, "-"),
    ("receive w-jobs.fifo -n 1", 0, "one"),
    ("top -n 1 --interval 0.2", 0, r"w-jobs.fifo +groups blocked"),
    ("explain w-jobs.fifo 2", 0, "It waits for message 1 before it in its group, which is in flight"),
    ("queue create w-idle", 0, "/w-idle"),
    ("send w-idle one", 0, "-"),
    ("top -n 1 --interval 0.2", 0, r"w-idle +no consumer"),
    ("check queues", 4, r"w-idle +no-dead-letter-queue"),
]
SETTINGS = [  # a change of the file, the exit code of its check, a part of the output
    ("", "", 0, "ok"),
    ("http =", "htpp =", 4, 'Did you mean "http"?'),
    (r"#memory = .*", 'memory = "4 apples"', 4, '"4 apples" is not valid'),
]


def part_of(run, rows):
    receipt = ""
    for line, code, wanted in rows:
        output = run([word.format(receipt=receipt) for word in line.split()], code)
        if not re.search(wanted, output):
            raise AssertionError(f"`pawl {line}` printed no {wanted!r}:\n{output}")
        if output.startswith("{"):
            receipt = json.loads(output)["receipt"]


def walk(run, settings):
    part_of(run, FIRST_MESSAGE)
    part_of(run, DEAD_LETTER)
    for _ in range(50):
        if "poison" in run(["peek", "w-orders", "--state", "visible"], 0):
            break
        time.sleep(0.1)
    part_of(run, REDRIVE)
    part_of(run, STUCK)
    good = settings.read_text()
    for old, new, code, wanted in SETTINGS:
        settings.write_text(re.sub(old, new, good, count=1) if old else good)
        part_of(run, [(f"config check /etc/pawl/{settings.name}", code, re.escape(wanted))])
    settings.write_text(good)
    part_of(run, [("config diff /etc/pawl/pawl.toml", 0, ""), ("config check --config /etc/pawl/pawl.toml", 2, "without a flag")])


def examples(run, page):
    """The examples of the manual page. Warnings and findings are no failures."""
    lines = page.split(".SH EXAMPLES\n.nf\n")[1].split(".fi")[0].replace("\\-", "-").splitlines()
    for line in lines:
        words = re.findall(r"'[^']*'|\S+", line.removeprefix("pawl "))
        run([word.strip("'") for word in words], 4 if words[0] == "check" else 0)
    return len(lines)
