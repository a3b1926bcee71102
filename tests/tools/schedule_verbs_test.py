#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl schedule create|ls|pause|resume|run-now|rm` at a server, with and without access keys, and the commands of their page."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peek_test import Verbs  # noqa: E402

KEY = {"AWS_ACCESS_KEY_ID": "OWNER", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-west-1"}
RATE = "rate(300 days)"  # its first fire comes after the test


class Schedules(Verbs):
    def setUp(self):
        super().setUp()
        for name in ("q", "q.fifo"):
            self.pawl.call("CreateQueue", QueueName=name, Attributes={"FifoQueue": "true"} if name.endswith("o") else {})

    def schedule(self, *words, code=0, **environment):
        return self.verb("schedule", *words, code=code, **environment)

    def create(self, name, *words, expression="at(2199-01-31T23:00:00)", queue="q", **more):
        return self.schedule("create", name, expression, "--queue", queue, *words, **more)

    def listed(self, *words, **environment):
        return {row["name"]: row for row in json.loads(self.schedule("ls", *words, "-o", "json", **environment))}

    def stored(self, name, group="default"):
        return json.loads(self.pawl.page("GET", f"/schedules/{name}?groupName={group}")[1])

    def bodies(self, queue):
        return [row["body"] for row in self.rows(queue)]


class Definitions(Schedules):
    def test_a_schedule_goes_through_its_life(self):
        self.assertEqual(self.create("s"), "arn:aws:scheduler:us-east-1:000000000000:schedule/default/s\n")
        self.assertEqual(self.schedule("ls"),
                         "NAME  GROUP    EXPRESSION               ZONE  STATE  NEXT                  TARGET\n"
                         "s     default  at(2199-01-31T23:00:00)  UTC   on     2199-01-31T23:00:00Z  queue q\n")
        self.assertEqual(self.schedule("pause", "s"), "")
        self.assertEqual((self.listed()["s"]["state"], self.listed()["s"]["next"]), ("paused", ""))
        self.assertEqual(self.stored("s")["State"], "DISABLED")
        self.assertEqual(self.schedule("pause", "s"), "", "it is paused already")
        self.assertEqual(self.schedule("resume", "s"), "")
        self.assertEqual(self.stored("s")["State"], "ENABLED")
        self.assertEqual(self.schedule("rm", "s"), "")
        self.assertEqual(self.schedule("ls"), "")
        self.assertEqual(json.loads(self.schedule("ls", "-o", "json")), [])

    def test_every_flag_of_create_is_stored(self):
        self.create("s", "--group", "g", "--zone", "Europe/Berlin", "--input", "a \"b\" ü", "--message-group", "m", "--start", "2199-01-01T00:00:00+01:00",
                    "--end", "2199-03-01T00:00:00Z", "--catch-up", "all", "--overlap", "skip", "--nonexistent", "skip", "--description", "for test",
                    "--delete-after-completion", "--paused", queue="q.fifo", expression="cron(30 2 * * ? *)")
        row = self.listed("--group", "g")["s"]
        self.assertEqual(row, {
            "name": "s", "group": "g", "expression": "cron(30 2 * * ? *)", "zone": "Europe/Berlin", "state": "paused", "next": "",
            "target": "arn:aws:sqs:us-east-1:000000000000:q.fifo", "input": "a \"b\" ü", "message_group": "m", "start": "2198-12-31T23:00:00Z",
            "end": "2199-03-01T00:00:00Z", "dead_letter_queue": "", "delete_after_completion": True, "catch_up": "all", "overlap": "skip", "nonexistent": "skip", "description": "for test",
            "arn": "arn:aws:scheduler:us-east-1:000000000000:schedule/g/s"})
        stored = self.stored("s", "g")
        self.assertEqual(stored["ActionAfterCompletion"], "DELETE")
        self.schedule("resume", "s", "--group", "g")
        resumed = self.stored("s", "g")
        self.assertEqual({**resumed, "State": "DISABLED", "LastModificationDate": 0}, {**stored, "LastModificationDate": 0})
        self.assertEqual(self.listed()["s"]["next"], "2199-01-01T01:30:00Z")

    def test_defaults_are_those_of_the_page(self):
        self.create("s")
        row = self.listed()["s"]
        self.assertEqual((row["catch_up"], row["overlap"], row["nonexistent"], row["zone"], row["group"]), ("last", "allow", "next", "UTC", "default"))

    def test_an_existing_schedule_is_kept_unless_it_is_to_be_replaced(self):
        self.create("s", "--input", "old")
        before = self.stored("s")
        self.assertIn("Add --replace", self.create("s", "--input", "new", code=1))
        self.assertEqual(self.stored("s"), before)
        self.create("s", "--replace", "--input", "new", expression=RATE)
        after = self.stored("s")
        self.assertEqual((after["Target"]["Input"], after["ScheduleExpression"], after["CreationDate"]), ("new", RATE, before["CreationDate"]))
        self.create("t", "--replace")
        self.assertEqual(sorted(self.listed()), ["s", "t"])

    def test_lists_have_groups_prefixes_and_names(self):
        for name, group in (("a1", "default"), ("a2", "g"), ("b1", "g")):
            self.create(name, "--group", group)
        self.assertEqual(list(self.listed()), ["a1", "a2", "b1"])
        self.assertEqual(list(self.listed("--group", "g")), ["a2", "b1"])
        self.assertEqual(list(self.listed("--prefix", "a")), ["a1", "a2"])
        self.assertEqual(list(self.listed("--group", "g", "--prefix", "b")), ["b1"])
        self.assertEqual(self.listed("--names")["b1"], {"name": "b1", "group": "g"})
        self.assertIn('there is no group "h"', self.schedule("ls", "--group", "h", code=3))

    def test_a_list_of_several_pages_is_whole(self):
        document = json.dumps({"ScheduleExpression": "rate(9 days)", "FlexibleTimeWindow": {"Mode": "OFF"}, "State": "DISABLED",
                               "Target": {"Arn": "arn:aws:sqs:us-east-1:000000000000:q", "RoleArn": "arn:aws:iam::000000000000:role/any"}})
        for i in range(230):
            self.assertEqual(self.pawl.page("POST", f"/schedules/n{i:03}", {"Content-Type": "application/json"}, document)[0], 200)
        self.assertEqual(list(self.listed("--names")), [f"n{i:03}" for i in range(230)])
        self.assertEqual({row["state"] for row in self.listed("--prefix", "n1").values()}, {"paused"})

    def test_a_schedule_without_another_fire_has_ended(self):
        self.create("s", expression="at(2020-01-01T00:00:00)")
        self.assertEqual((self.listed()["s"]["state"], self.listed()["s"]["next"]), ("ended", ""))

    def test_targets_are_names_urls_and_arns(self):
        url = self.pawl.call("GetQueueUrl", QueueName="q")["QueueUrl"]
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        for given in ("q", url, arn):
            self.create("s", "--replace", queue=given)
            self.assertEqual(self.listed()["s"]["target"], arn)
        later = "arn:aws:sqs:us-east-1:000000000000:later"
        self.create("s", "--replace", queue=later)
        self.assertEqual(self.listed()["s"]["target"], later)
        topic = self.verb("topic", "create", "news").strip()
        for given in ("news", topic):
            self.schedule("create", "s", RATE, "--topic", given, "--replace")
            self.assertEqual(self.listed()["s"]["target"], topic)

    def test_what_is_not_there_has_the_code_3(self):
        self.assertIn('there is no queue "none". `pawl queue ls`', self.create("s", queue="none", code=3))
        self.assertIn('there is no topic "none"', self.schedule("create", "s", RATE, "--topic", "none", code=3))
        self.assertEqual(self.listed(), {})
        for verb in ("pause", "resume", "run-now", "rm"):
            self.assertIn('there is no schedule "s" in the group "default". `pawl schedule ls`', self.schedule(verb, "s", code=3))
            self.assertIn('there is no group "g"', self.schedule(verb, "s", "--group", "g", code=3))

    def test_faults_of_values_name_their_remedy(self):
        self.assertIn("Add --message-group", self.create("s", queue="q.fifo", code=2))
        self.assertIn("give one of --queue QUEUE and --topic TOPIC", self.schedule("create", "s", RATE, code=2))
        self.assertIn("give one of --queue QUEUE and --topic TOPIC", self.create("s", "--topic", "t", code=2))
        self.assertIn("--message-group is for queues", self.schedule("create", "s", RATE, "--topic", "t", "--message-group", "m", code=2))
        self.assertIn("The EndDate you specify must be in the future", self.create("s", "--end", "2020-01-01T00:00:00Z", code=1))


class RunNow(Schedules):
    def test_the_message_is_sent_and_no_fire_moves(self):
        self.create("s", "--input", "<aws.scheduler.schedule-arn> <aws.scheduler.attempt-number>", "--paused")
        before = self.stored("s")
        sent = self.schedule("run-now", "s").strip()
        rows = self.rows("q")
        self.assertEqual([(row["id"], row["body"]) for row in rows],
                         [(sent, "arn:aws:scheduler:us-east-1:000000000000:schedule/default/s 1")])
        self.assertEqual(self.stored("s"), before)

    def test_a_schedule_without_input_sends_json(self):
        self.create("s", "--group", "g")
        self.schedule("run-now", "s", "--group", "g")
        body = json.loads(self.bodies("q")[0])
        self.assertEqual((body["source"], body["account"], body["region"]), ("aws.scheduler", "000000000000", "us-east-1"))
        self.assertEqual(body["resources"], ["arn:aws:scheduler:us-east-1:000000000000:schedule/g/s"])

    def test_a_fifo_queue_gets_a_message_each_time(self):
        self.create("s", "--message-group", "m", "--input", "same", queue="q.fifo")
        for _ in range(2):
            self.schedule("run-now", "s")
        self.assertEqual([(row["group"], row["body"]) for row in self.rows("q.fifo")], [("m", "same")] * 2)

    def test_a_topic_is_published_to(self):
        self.verb("topic", "create", "news")
        self.verb("topic", "subscribe", "news", "q", "--raw")
        self.schedule("create", "s", "at(2199-01-31T23:00:00)", "--topic", "news", "--input", "hello")
        self.schedule("run-now", "s")
        self.assertEqual(self.bodies("q"), ["hello"])

    def test_a_target_that_is_gone_has_the_code_3(self):
        self.create("s")
        self.verb("queue", "rm", "q", "--yes")
        self.assertIn('there is no queue "q"', self.schedule("run-now", "s", code=3))


class Fires(Schedules):
    """A rate without a start fires when it is created, and then each hour."""

    def received(self, wait=10):
        messages = self.pawl.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=wait, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            self.pawl.call("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        return [message["Body"] for message in messages]

    def advance(self, by):
        self.assertEqual(self.pawl.page("POST", "/_pawl/clock", body=json.dumps({"advance": by}))[0], 200)

    def test_a_created_schedule_fires_and_a_paused_one_does_not(self):
        self.create("s", "--input", "hello", expression="rate(1 hour)")
        self.assertEqual(self.received(), ["hello"])
        self.schedule("pause", "s")
        self.schedule("resume", "s")
        self.assertEqual(self.received(1), [], "a change does not fire it")
        self.advance("1h")
        self.assertEqual(self.received(), ["hello"])
        self.schedule("pause", "s")
        self.advance("3h")
        self.assertEqual(self.received(1), [])

    def test_a_deleted_schedule_does_not_fire(self):
        self.create("s", "--input", "hello", expression="rate(1 hour)")
        self.assertEqual(self.received(), ["hello"])
        self.schedule("rm", "s")
        self.advance("3h")
        self.assertEqual(self.received(1), [])

    def test_a_replaced_schedule_does_not_fire_for_it(self):
        self.create("s", "--input", "old", expression="rate(1 hour)")
        self.assertEqual(self.received(), ["old"])
        self.create("s", "--input", "new", "--replace", expression="rate(2 hours)")
        self.assertEqual(self.received(1), [])

    def test_the_next_fire_of_a_list_is_the_time_of_the_message(self):
        self.create("s", "--input", "<aws.scheduler.scheduled-time>", expression="rate(1 hour)")
        self.assertEqual(len(self.received()), 1)
        coming = self.listed()["s"]["next"]
        self.schedule("run-now", "s")
        self.assertEqual(len(self.received()), 1)
        self.assertEqual(self.listed()["s"]["next"], coming, "no fire has moved")
        self.advance("1h")
        (fired,) = self.received()
        self.assertEqual(fired, coming)


class Signed(Schedules):
    words = ("--auth", "sigv4", "--keys", "{keys}")

    def setUp(self):  # calls without a key are refused
        Verbs.setUp(self)
        self.verb("queue", "create", "q", **KEY)

    def test_each_verb_is_signed_for_the_scheduler(self):
        arn = self.create("s.1_-", "--group", "g", "--input", "hi", **KEY).strip()
        self.assertEqual(arn, "arn:aws:scheduler:us-east-1:111111111111:schedule/g/s.1_-")
        self.assertEqual(list(self.listed("--prefix", "s.1", "--group", "g", **KEY)), ["s.1_-"])
        for verb in ("pause", "resume", "run-now", "rm"):
            self.schedule(verb, "s.1_-", "--group", "g", **KEY)
        self.assertEqual([row["body"] for row in self.rows("q", **KEY)], ["hi"])

    def test_a_refused_key_is_an_error(self):
        self.assertIn("InvalidSignatureException", self.schedule("ls", code=1, **{**KEY, "AWS_SECRET_ACCESS_KEY": "wrong"}))
        self.assertIn("set AWS_ACCESS_KEY_ID", self.schedule("ls", code=1))


class Strict(Schedules):
    words = ("--strict-sqs",)

    def test_a_server_without_the_api_is_named(self):
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        for words in (("ls",), ("pause", "s"), ("rm", "s"), ("run-now", "s"), ("create", "s", RATE, "--queue", arn)):
            with self.subTest(words):
                self.assertIn("without --strict-sqs", self.schedule(*words, code=1))


class Page(Verbs):
    def test_page_can_be_followed(self):
        self.run_documented("SCHEDULING.md", 16)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
