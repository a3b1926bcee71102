#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl queue apply`: gives a running server the queues, topics, subscriptions and schedules of a configuration file."""

import json
import os
import sys
import unittest

from peek_test import Verbs

TWO = """
[[queue]]
name = "dead"

[[queue]]
name = "orders"
VisibilityTimeout = 60
RedrivePolicy = {deadLetterTargetArn = "arn:aws:sqs:us-east-1:000000000000:dead", maxReceiveCount = 3}
tags = {team = "blue"}
"""


FAN_OUT = """
[[queue]]
name = "q"

[[queue]]
name = "q.fifo"

[[topic]]
name = "news"
DisplayName = "N & E"
tags = {team = "blue"}

[[topic]]
name = "news.fifo"

[[subscription]]
topic = "news"
endpoint = "q"
RawMessageDelivery = true
FilterPolicy = {colour = ["red"]}

[[subscription]]
topic = "news.fifo"
endpoint = "q.fifo"
"""


SCHEDULES = """
[[queue]]
name = "q"

[[schedule]]
name = "s"
expression = "at(2199-01-31T23:00:00)"
queue = "q"
input = "old"

[[schedule]]
name = "t"
group = "g"
expression = "at(2199-01-31T23:00:00)"
queue = "q"
enabled = false
"""


class Apply(Verbs):
    def write(self, text):
        path = os.path.join(self.place, "queues.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def outcomes(self, text, *words):
        rows = json.loads(self.verb("queue", "apply", self.write(text), "-o", "json", *words))
        return {row["name"]: (row["outcome"], row["changes"]) for row in rows}

    def attributes(self, name):
        return self.pawl.call("GetQueueAttributes", QueueUrl=name, AttributeNames=["All"])["Attributes"]

    def names(self):
        return [url.rsplit("/", 1)[1] for url in self.pawl.call("ListQueues").get("QueueUrls", [])]

    def test_makes_what_is_missing_and_changes_what_differs(self):
        self.pawl.call("CreateQueue", QueueName="other")
        wanted = {"dead": ("to create", ""), "orders": ("to create", "")}
        self.assertEqual(self.outcomes(TWO, "--dry-run"), wanted)
        self.assertEqual(self.names(), ["other"], "a dry run makes nothing")
        self.assertEqual(self.outcomes(TWO), {name: ("created", "") for name in wanted})
        self.assertEqual(sorted(self.names()), ["dead", "orders", "other"])
        made = self.attributes("orders")
        self.assertEqual(made["VisibilityTimeout"], "60")
        self.assertEqual(json.loads(made["RedrivePolicy"])["maxReceiveCount"], 3)
        self.assertEqual(self.outcomes(TWO), {name: ("unchanged", "") for name in wanted})

        other = TWO.replace("60", "90").replace("blue", "red")
        changes = "VisibilityTimeout: 60 -> 90; tag team: blue -> red"
        self.assertEqual(self.outcomes(other, "--dry-run")["orders"], ("to change", changes))
        self.assertEqual(self.attributes("orders"), made, "a dry run changes nothing")
        self.assertEqual(self.outcomes(other)["orders"], ("changed", changes))
        self.assertEqual(self.attributes("orders")["VisibilityTimeout"], "90")
        self.assertEqual(self.pawl.call("ListQueueTags", QueueUrl="orders")["Tags"], {"team": "red"})
        self.assertEqual(self.outcomes('[[queue]]\nname = "dead"\n'), {"dead": ("unchanged", "")})
        self.assertEqual(sorted(self.names()), ["dead", "orders", "other"], "nothing is deleted")
        self.assertEqual(self.attributes("orders")["VisibilityTimeout"], "90", "what the file does not name stays")

    def test_refuses_what_would_lose_messages_or_cannot_be(self):
        self.outcomes('[[queue]]\nname = "orders"\n')
        self.pawl.call("SendMessage", QueueUrl="orders", MessageBody="hello")
        shorter = self.write('[[queue]]\nname = "orders"\nMessageRetentionPeriod = 60\nDelaySeconds = 5\n')
        for words in ((), ("--dry-run",)):
            done = self.run_pawl("queue", "apply", shorter, *words, "--url", self.pawl.url)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("queues.toml:3:", done.stderr)
            self.assertIn("would be deleted earlier", done.stderr)
        self.assertEqual(self.attributes("orders")["DelaySeconds"], "0", "nothing is changed")
        for text, place, words in (('[[queue]]\nname = "orders"\nDelaySecond = 5\n', ":3:", "DelaySeconds"),
                                   ('[[queue]]\nname = "o r"\n', ":1:", "o r"),
                                   ('[[queue]\n', ":1:", "")):
            done = self.run_pawl("queue", "apply", self.write(text), "--url", self.pawl.url)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(place, done.stderr)
            self.assertIn(words, done.stderr)

    def topics(self):
        return {row["topic"]: row["subscriptions"] for row in json.loads(self.verb("topic", "ls", "-o", "json"))}

    def subscription(self, topic):
        (row,) = json.loads(self.verb("topic", "subscriptions", topic, "-o", "json"))
        return {key: row[key] for key in ("queue", "raw", "filter", "scope")}

    def test_makes_topics_and_subscriptions_and_changes_what_differs(self):
        self.verb("topic", "create", "other")
        names = ("q", "q.fifo", "news", "news.fifo", "news -> q", "news.fifo -> q.fifo")
        self.assertEqual(self.outcomes(FAN_OUT, "--dry-run"), {name: ("to create", "") for name in names})
        self.assertEqual((self.names(), self.topics()), ([], {"other": 0}), "a dry run makes nothing")
        self.assertEqual(self.outcomes(FAN_OUT), {name: ("created", "") for name in names})
        self.assertEqual(self.topics(), {"other": 0, "news": 1, "news.fifo": 1})
        made = {"queue": "q", "raw": True, "filter": '{"colour":["red"]}', "scope": "MessageAttributes"}
        self.assertEqual(self.subscription("news"), made)
        for words in ((), ("--dry-run",)):
            self.assertEqual(self.outcomes(FAN_OUT, *words), {name: ("unchanged", "") for name in names})
        self.verb("topic", "publish", "news", "hello", "--attribute", "colour=red")
        self.assertIn("hello", self.verb("receive", "q", "--wait", "2"))

        other = (FAN_OUT.replace("N & E", "N").replace("blue", "green").replace("RawMessageDelivery = true", "RawMessageDelivery = false")
                 .replace('{colour = ["red"]}', '{a = {b = ["c"]}}\nFilterPolicyScope = "MessageBody"'))
        wanted = {"news": "DisplayName: N & E -> N; tag team: blue -> green",
                  "news -> q": 'FilterPolicyScope: MessageAttributes -> MessageBody; FilterPolicy: {"colour":["red"]} -> {"a":{"b":["c"]}}; '
                               "RawMessageDelivery: true -> false"}
        outcomes = self.outcomes(other, "--dry-run")
        self.assertEqual({name: outcomes[name] for name in wanted}, {name: ("to change", text) for name, text in wanted.items()})
        self.assertEqual(self.subscription("news"), made, "a dry run changes nothing")
        outcomes = self.outcomes(other)
        self.assertEqual({name: outcomes[name] for name in wanted}, {name: ("changed", text) for name, text in wanted.items()})
        self.assertEqual(self.subscription("news"), {"queue": "q", "raw": False, "filter": '{"a":{"b":["c"]}}', "scope": "MessageBody"})
        self.assertEqual({outcome for outcome, _ in self.outcomes(other).values()}, {"unchanged"})
        self.outcomes('[[topic]]\nname = "news"\n')
        self.assertEqual(self.topics(), {"other": 0, "news": 1, "news.fifo": 1}, "nothing is deleted")

    def test_makes_schedules_and_changes_what_differs(self):
        def listed():
            return {row["name"]: row for row in json.loads(self.verb("schedule", "ls", "-o", "json"))}
        names = ("q", "s", "t")
        self.assertEqual(self.outcomes(SCHEDULES, "--dry-run"), {name: ("to create", "") for name in names})
        self.assertEqual(listed(), {}, "a dry run makes nothing")
        self.assertEqual(self.outcomes(SCHEDULES), {name: ("created", "") for name in names})
        made = listed()
        self.assertEqual([(row["group"], row["state"]) for row in made.values()], [("default", "on"), ("g", "paused")])
        for words in ((), ("--dry-run",)):
            self.assertEqual(self.outcomes(SCHEDULES, *words), {name: ("unchanged", "") for name in names})
        self.verb("schedule", "pause", "s")
        self.assertEqual(self.outcomes(SCHEDULES)["s"], ("unchanged", ""), "a pause lasts")
        other = SCHEDULES.replace('"old"', '"new"\nzone = "Europe/Berlin"').replace("false", "true")
        wanted = {"s": "zone: UTC -> Europe/Berlin; input: ... -> ...", "t": "state: paused -> on"}
        outcomes = self.outcomes(other)
        self.assertEqual({name: outcomes[name] for name in wanted}, {name: ("changed", text) for name, text in wanted.items()})
        changed = listed()
        self.assertEqual((changed["s"]["input"], changed["s"]["state"], changed["t"]["state"]), ("new", "paused", "on"))
        self.outcomes('[[queue]]\nname = "q"\n')
        self.assertEqual(listed(), changed, "nothing is deleted")

    def test_schedules_that_cannot_be_have_the_place_of_their_key(self):
        for text, place, words in ((SCHEDULES.replace("at(2199", "on(2199"), ":7:14", "on(2199"), (SCHEDULES + 'catch-up = "x"\n', ":17:12", "none, last, all")):
            done = self.run_pawl("queue", "apply", self.write(text), "--url", self.pawl.url)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(place, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(self.names(), [])

    def test_refuses_schedules_whose_target_is_missing(self):
        self.pawl.call("CreateQueue", QueueName="there")
        row = '[[schedule]]\nname = "s"\nexpression = "rate(5 minutes)"\n'
        for keys, place, words in (('queue = "none"\n', ":4:", ":none of schedule s: there is no such queue"),
                                   ('topic = "none"\n', ":4:", "there is no such topic. Declare it as [[topic]] too"),
                                   ('queue = "there"\ndead-letter-queue = "none"\n', ":5:", ":none of schedule s: there is no such queue")):
            done = self.run_pawl("queue", "apply", self.write(row + keys), "--url", self.pawl.url)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("queues.toml" + place, done.stderr)
            self.assertIn(words, done.stderr)
        self.verb("topic", "create", "news")
        rows = self.outcomes(row + 'queue = "there"\n' + row.replace('"s"', '"n"') + 'topic = "news"\n')
        self.assertEqual({outcome for outcome, _ in rows.values()}, {"created"}, "they need not be declared")

    def test_refuses_subscriptions_that_cannot_be(self):
        missing = self.write('[[queue]]\nname = "q"\n[[subscription]]\ntopic = "none"\nendpoint = "q"\n')
        done = self.run_pawl("queue", "apply", missing, "--url", self.pawl.url)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"queues\.toml:3:\d+: topic = none: the endpoint has no such topic")
        self.assertEqual(self.names(), [], "it is found before anything is made")
        wrong = self.write('[[topic]]\nname = "t"\n[[subscription]]\ntopic = "t"\nendpoint = "missing"\n')
        done = self.run_pawl("queue", "apply", wrong, "--url", self.pawl.url)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"queues\.toml:3:\d+: .*does not exist")
        foreign = self.write('[[topic]]\nname = "t"\naccount = "111111111111"\n')
        done = self.run_pawl("queue", "apply", foreign, "--url", self.pawl.url)
        self.assertEqual((done.returncode, "is of account 111111111111" in done.stderr), (2, True), done.stderr)


class OfAnotherAccount(Verbs):
    words = ("--account", "333333333333", "--region", "eu-west-1")

    def test_the_names_are_of_the_account_and_region_of_the_endpoint(self):
        path = os.path.join(self.place, "queues.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write('[[queue]]\nname = "dead"\n' + FAN_OUT + '[[schedule]]\nname = "s"\nexpression = "rate(5 minutes)"\n'
                       'queue = "q"\ndead-letter-queue = "dead"\n')
        rows = json.loads(self.verb("queue", "apply", path, "-o", "json"))
        self.assertEqual({row["outcome"] for row in rows}, {"created"})
        rows = json.loads(self.verb("queue", "apply", path, "-o", "json"))
        self.assertEqual({row["outcome"] for row in rows}, {"unchanged"})
        _, text = self.pawl.page("GET", "/schedules/s")
        target = json.loads(text)["Target"]
        self.assertEqual((target["Arn"], target["DeadLetterConfig"]["Arn"]),
                         ("arn:aws:sqs:eu-west-1:333333333333:q", "arn:aws:sqs:eu-west-1:333333333333:dead"))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
