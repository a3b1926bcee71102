#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages that expire: x-ttl, x-message-ttl, x-dlq-on-expiry and x-retention-from."""

import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from delays_test import DAY, BotoVerbs, client_of, in_utc  # noqa: E402
from delays_test import killed_and_restarted, not_before  # noqa: E402
from dev_test import page  # noqa: E402
from peek_test import PAWL  # noqa: E402
from pawl_server import Pawl  # noqa: E402

RANGE = "It must be 1 ms to 14 days, as 250ms, 90s, 15m, 2h or 3d; a number alone counts seconds."
EXPIRED = {"x-dead-letter-reason": "expired"}


def given(time_to_live, kind="String"):
    return {"x-ttl": {"DataType": kind, "StringValue": str(time_to_live)}}


def living(time_to_live, kind="String"):
    return {"MessageSystemAttributes": given(time_to_live, kind)}


def redrive_to(name, receives=5):
    return json.dumps({"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:000000000000:{name}", "maxReceiveCount": receives})


class Expiring(BotoVerbs):
    def fifo(self, name="q.fifo", **more):
        return self.queue(name, FifoQueue="true", ContentBasedDeduplication="true", **more)

    def received(self, url, most=10, **members):
        return self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=most, **members).get("Messages", [])

    def attributes(self, url):
        return self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]

    def set(self, url, **attributes):
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={key.replace("_", "-"): value for key, value in attributes.items()})


class TimeToLive(Expiring):
    def test_page_can_be_followed(self):
        self.run_documented("EXPIRING.md", 7)
        self.run_examples("EXPIRING.md", 2)
        self.assertEqual(self.counts(self.sqs.get_queue_url(QueueName="codes")["QueueUrl"]), (0, 1, 0))

    def test_a_waiting_message_expires_by_itself(self):
        url = self.queue()
        began = time.monotonic()
        self.post(url, "stays")
        self.post(url, "goes", **living("700ms"))
        while self.counts(url) != (1, 0, 0):
            self.assertLess(time.monotonic(), began + 10, "it does not expire")
            time.sleep(0.05)
        self.assertGreaterEqual(time.monotonic() - began, 0.7, "early")
        self.assertEqual(self.bodies(url), ["stays"])
        status, text = page("http://" + self.pawl.ready["admin"], "GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(text, r'\npawl_messages_expired_total\{queue="q",account="000000000000"\} 1\n')

    def test_the_shorter_of_message_and_queue_counts(self):
        url = self.queue(x_message_ttl="10")
        for body, more in (("long", living("1m")), ("short", living("5", "Number")), ("none", {})):
            self.post(url, body, **more)
        self.advance(4)
        self.assertEqual(self.counts(url), (3, 0, 0))
        self.advance(1)
        self.assertEqual(self.counts(url), (2, 0, 0))
        self.advance(5)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_a_change_applies_to_later_messages(self):
        url = self.queue()
        self.post(url, "before")
        self.set(url, x_message_ttl="5")
        self.post(url, "after")
        self.set(url, x_message_ttl="1h")
        self.advance(5)
        self.assertEqual(self.bodies(url), ["before"])

    def test_it_begins_when_the_message_becomes_visible(self):
        url = self.queue(x_max_delay="2d")
        self.post(url, DelaySeconds=DAY, **living("30s"))
        self.post(url, MessageSystemAttributes=given("30s") | not_before(in_utc(DAY)))
        self.advance(DAY + 25)
        self.assertEqual(self.counts(url), (2, 0, 0))
        self.advance(10)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_a_message_in_flight_stays_until_it_comes_back(self):
        url = self.queue(VisibilityTimeout="60")
        for body in ("deleted", "returned", "uncounted", "left"):
            self.post(url, body, **living("5s"))
        handles = {message["Body"]: message["ReceiptHandle"] for message in self.received(url)}
        self.advance(10)
        self.assertEqual(self.counts(url), (0, 4, 0))
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=handles["deleted"])
        self.assertEqual(self.counts(url), (0, 3, 0))
        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handles["returned"], VisibilityTimeout=0)
        self.assertEqual(self.counts(url), (0, 2, 0))
        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handles["uncounted"] + ";x-return=uncounted", VisibilityTimeout=0)
        self.assertEqual(self.counts(url), (0, 1, 0))
        self.assertRegex(self.verb("explain", "q", "4"), r"By its x-ttl it lives for 5\.0 s from when it first becomes visible\. That time ends "
                         r"before its visibility timeout: it expires when it comes back\. It expires in 4[0-9]\.")
        self.advance(50)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_a_new_delivery_time_does_not_prolong_it(self):
        url = self.queue(x_max_delay="1d")
        number = self.post(url, **living("30s"))["MessageId"]
        self.advance(10)
        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle="x-id:" + number, VisibilityTimeout=3600)
        self.assertEqual(self.counts(url), (0, 0, 1))
        self.advance(20)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_an_expired_head_frees_its_group(self):
        url = self.fifo()
        self.post(url, "head", MessageGroupId="g", **living("5s"))
        self.post(url, "next", MessageGroupId="g")
        (head,) = self.received(url, most=1, VisibilityTimeout=20)
        self.assertEqual(head["Body"], "head")
        self.assertEqual(self.bodies(url), [], "the head in flight holds its group")
        self.advance(5)
        self.assertEqual(self.bodies(url), [], "it stays with its consumer")
        self.advance(15)
        self.assertEqual(self.bodies(url), ["next"])
        other = self.fifo("other.fifo")
        self.post(other, "head", MessageGroupId="g", **living("5s"))
        self.post(other, "next", MessageGroupId="g")
        self.advance(5)
        self.assertEqual(self.bodies(other), ["next"])


class SecondChannel(Expiring):
    def test_message_attributes_carry_it_where_the_queue_says_so(self):
        url = self.queue()
        self.post(url, "ordinary", MessageAttributes=given("soon"))
        self.post(url, "too", MessageAttributes=given("5s"))
        self.set(url, x_attributes="message")
        self.refusal(self.post, "Value soon for the attribute x-ttl is invalid.", url=url, MessageAttributes=given("soon"))
        self.refusal(self.post, "has this attribute already", url=url, MessageAttributes=given("5s"), **living("5s"))
        self.post(url, "expires", MessageAttributes=given("5", "Number"))
        self.post(url, "its id", MessageAttributes={"X-Request-Id": {"DataType": "String", "StringValue": "1"}})
        (first,) = self.received(url, most=1, MessageAttributeNames=["All"], VisibilityTimeout=0)
        self.assertEqual(first["MessageAttributes"], given("soon"))
        self.advance(5)
        self.assertEqual(sorted(self.bodies(url)), ["its id", "ordinary", "too"])


class Refusals(Expiring):
    def test_a_wrong_time_to_live_is_named(self):
        url = self.queue()
        nobody = "A message that expires as soon as it is visible reaches nobody. " + RANGE
        for value, reason in (("soon", RANGE), ("-1", RANGE), ("1.5s", RANGE), ("0", nobody), ("0ms", nobody),
                              ("15d", "It is too long. " + RANGE), ("1209600001ms", "It is too long. " + RANGE)):
            with self.subTest(value):
                self.refusal(self.post, f"Value {value} for the attribute x-ttl is invalid. Reason: {reason}", url=url, **living(value))
        self.refusal(self.post, "type of message (system) attribute 'x-ttl' is invalid", url=url,
                     MessageSystemAttributes={"x-ttl": {"DataType": "Binary", "BinaryValue": b"1"}})
        self.refusal(self.post, 'Did you mean "x-ttl"?', url=url, MessageSystemAttributes={"x-tll": given("1")["x-ttl"]})
        for value in ("1ms", "14d", "1209600"):
            self.post(url, **living(value))

    def test_each_entry_of_a_batch_has_its_own(self):
        url = self.queue()
        times = ("5s", "0", "20d", "60")
        done = self.sqs.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": str(i)} | living(each) for i, each in enumerate(times)])
        self.assertEqual([entry["Id"] for entry in done["Successful"]], ["0", "3"])
        self.assertEqual([(entry["Id"], entry["Code"], entry["SenderFault"]) for entry in done["Failed"]],
                         [("1", "InvalidParameterValue", True), ("2", "InvalidParameterValue", True)])
        self.assertIn("reaches nobody", done["Failed"][0]["Message"])
        self.assertIn("too long", done["Failed"][1]["Message"])
        self.advance(5)
        self.assertEqual(self.bodies(url), ["3"])

    def test_a_wrong_attribute_of_a_queue_is_named(self):
        url = self.queue()
        seconds = "write whole seconds from 1 to 1209600, as 90, 15m or 3d, or 0 for none."
        for name, value, words in (("x-message-ttl", "500ms", "It is 500ms; " + seconds), ("x-message-ttl", "15d", "It is 15d; " + seconds),
                                   ("x-message-ttl", "", "It is empty; " + seconds), ("x-dlq-on-expiry", "yes", "It is yes; write one of false, true."),
                                   ("x-retention-from", "arrival", "It is arrival; write one of send, move."),
                                   ("x-mesage-ttl", "5", 'Did you mean "x-message-ttl"?'),
                                   ("x-dlq-on-expire", "true", 'Did you mean "x-dlq-on-expiry"?'),
                                   ("x-retention-form", "move", 'Did you mean "x-retention-from"?')):
            with self.subTest(name + "=" + value):
                code = "InvalidAttributeName" if words.startswith("Did") else "InvalidAttributeValue"
                self.refusal(self.sqs.set_queue_attributes, words, code=code, QueueUrl=url, Attributes={name: value})
        self.assertEqual([name for name in self.attributes(url) if name.startswith("x-")], [])

    def test_a_wrong_time_of_the_verb_is_named(self):
        for value in ("soon", "0", "15d"):
            done = self.run_pawl("send", "q", "m", "--ttl", value)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f'"{value}" is not a time to live of 1 ms to 14 days', done.stderr)


class Attributes(Expiring):
    def test_they_are_answered_once_they_are_set(self):
        url = self.queue(x_message_ttl="15m", x_dlq_on_expiry="TRUE", x_retention_from="move")
        asked = ["x-message-ttl", "x-dlq-on-expiry", "x-retention-from"]
        self.assertEqual(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"],
                         {"x-message-ttl": "900", "x-dlq-on-expiry": "true", "x-retention-from": "move"})
        info = self.verb("queue", "info", "q")
        for words in (r"x-message-ttl +900\n", r"x-dlq-on-expiry +true\n", r"x-retention-from +move\n"):
            self.assertRegex(info, words)
        self.assertEqual(self.queue(x_message_ttl="900", x_dlq_on_expiry="true", x_retention_from="move"), url, "the same attributes")
        self.verb("queue", "set", "q", "--set", "x-message-ttl=0", "--set", "x-dlq-on-expiry=false", "--set", "x-retention-from=send")
        self.assertEqual([name for name in self.attributes(url) if name.startswith("x-")], [])

    def test_a_retention_of_a_year_is_possible(self):
        year = 365 * DAY
        url = self.queue(x_max_retention="365d", MessageRetentionPeriod=str(year))
        got = self.attributes(url)
        self.assertEqual((got["x-max-retention"], got["MessageRetentionPeriod"]), (str(year), str(year)))
        self.post(url, "old")
        self.advance(360 * DAY)
        self.assertEqual(self.counts(url), (1, 0, 0))
        self.advance(6 * DAY)
        self.assertEqual(self.counts(url), (0, 0, 0))
        for attributes, text in (({"MessageRetentionPeriod": str(year + 1)}, "it must be 60 to 31536000, the x-max-retention of the queue"),
                                 ({"x-max-retention": "0"}, "of at most 1209600 s; that of the queue is 31536000 s"),
                                 ({"x-max-retention": "733d"}, "x-max-retention")):
            self.refusal(self.sqs.set_queue_attributes, text, code="InvalidAttributeValue", QueueUrl=url, Attributes=attributes)

    def test_they_can_be_declared(self):
        file = pathlib.Path(self.place, "queues.toml")
        text = '[[queue]]\nname = "q"\nx-message-ttl = "15m"\nx-dlq-on-expiry = true\nx-retention-from = "move"\n'
        file.write_text(text)
        self.assertIn("q", self.verb("queue", "apply", str(file)))
        got = self.attributes(self.sqs.get_queue_url(QueueName="q")["QueueUrl"])
        self.assertEqual([got[name] for name in ("x-message-ttl", "x-dlq-on-expiry", "x-retention-from")], ["900", "true", "move"])
        self.assertNotIn("->", self.verb("queue", "apply", str(file)), "nothing differs")
        file.write_text(text.replace("15m", "20m"))
        self.assertIn("x-message-ttl: 900 -> 20m", self.verb("queue", "apply", str(file)))
        file.write_text(text.replace("true", '"maybe"'))
        checked = self.run_pawl("config", "check", str(file))
        self.assertEqual(checked.returncode, 4, checked.stdout + checked.stderr)
        self.assertIn("x-dlq-on-expiry = maybe of queue q", checked.stdout + checked.stderr)


class DeadLetters(Expiring):
    def setUp(self):
        super().setUp()
        self.dead = self.queue("dead", MessageRetentionPeriod="60", VisibilityTimeout="0")

    def source(self, **more):
        return self.queue(**{"RedrivePolicy": redrive_to("dead"), "MessageRetentionPeriod": "60", "x-dlq-on-expiry": "true"} | more)

    def dies(self, url):
        """The only message of the queue moves; the queues may be on two shards."""
        end = time.monotonic() + 10
        while (counted := self.counts(self.dead)) != (1, 0, 0):
            self.assertLess(time.monotonic(), end, counted)
            time.sleep(0.02)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_an_expired_message_moves_and_says_why(self):
        url = self.source()
        number = self.post(url, **living("5s"))["MessageId"]
        self.assertRegex(self.verb("explain", "q", "1"), r"When it expires it moves to the dead-letter queue dead\. It expires in [0-5]\.\d s\.")
        self.advance(5)
        self.dies(url)
        (letter,) = self.received(self.dead, AttributeNames=["All"])
        self.assertEqual(letter["MessageId"], number)
        self.assertEqual(letter["Attributes"]["x-dead-letter-reason"], "expired")
        self.assertTrue(letter["Attributes"]["DeadLetterQueueSourceArn"].endswith(":q"))
        self.assertNotIn("x-ttl", letter["Attributes"], "not part of All")
        (letter,) = self.received(self.dead, AttributeNames=["x-dead-letter-reason"])
        self.assertEqual(letter["Attributes"], EXPIRED)
        self.assertRegex(self.verb("explain", "dead", number), "It is a dead letter of the queue q, which moved it here .* ago, because it expired, after 0 receives.")
        status, peeked = self.action("Pawl.PeekMessages", QueueUrl="dead")
        self.assertEqual((status, peeked["Messages"][0]["Attributes"]["x-dead-letter-reason"]), (200, "expired"))

    def test_one_that_was_received_too_often_has_no_reason(self):
        url = self.source(RedrivePolicy=redrive_to("dead", 1), VisibilityTimeout="0")
        self.post(url, **living("40s"))
        self.assertEqual(self.bodies(url), ["m"])
        self.assertEqual(self.bodies(url), [])
        (letter,) = self.received(self.dead, AttributeNames=["All"])
        self.assertNotIn("x-dead-letter-reason", letter["Attributes"])
        self.advance(45)
        self.assertEqual(self.counts(self.dead), (1, 0, 0), "the time to live stays behind")

    def test_a_message_in_flight_moves_when_it_comes_back(self):
        url = self.source(VisibilityTimeout="20")
        self.post(url, **living("5s"))
        self.assertEqual(self.bodies(url), ["m"])
        self.advance(10)
        self.assertEqual((self.counts(url), self.counts(self.dead)), ((0, 1, 0), (0, 0, 0)))
        self.advance(10)
        self.dies(url)
        (letter,) = self.received(self.dead, AttributeNames=["All"])
        self.assertEqual(letter["Attributes"]["ApproximateReceiveCount"], "2")

    def test_the_retention_counts_and_begins_anew(self):
        url = self.source()
        self.post(url)
        self.advance(61)
        self.dies(url)
        (letter,) = self.received(self.dead, AttributeNames=["x-dead-letter-reason"])
        self.assertEqual(letter["Attributes"], EXPIRED)
        self.advance(55)
        self.assertEqual(self.counts(self.dead), (1, 0, 0))
        self.assertRegex(self.verb("explain", "dead", "1"), r"It expires in [0-5]\.\d s\.")
        self.advance(6)
        self.assertEqual(self.counts(self.dead), (0, 0, 0))

    def test_without_a_dead_letter_queue_it_is_deleted(self):
        url = self.queue("alone", x_dlq_on_expiry="true")
        self.post(url, **living("5s"))
        self.advance(5)
        self.assertEqual(self.counts(url), (0, 0, 0))
        self.assertRegex(self.verb("explain", "alone", "1", code=3), "its time to live ended")

    def test_retention_from_the_move_for_all(self):
        url = self.source(RedrivePolicy=redrive_to("dead", 1), VisibilityTimeout="0", **{"x-dlq-on-expiry": "false"})
        for retained, left in (("send", 0), ("move", 1)):
            with self.subTest(retained):
                self.set(self.dead, x_retention_from=retained)
                self.sqs.purge_queue(QueueUrl=self.dead)
                self.post(url)
                self.advance(50)
                self.assertEqual(self.bodies(url), ["m"])
                self.assertEqual(self.bodies(url), [])
                self.assertEqual(self.counts(self.dead), (1, 0, 0))
                self.advance(15)
                self.assertEqual(self.counts(self.dead), (left, 0, 0))

    def test_the_dead_letter_queue_has_its_own_time_to_live(self):
        url = self.source()
        self.set(self.dead, x_message_ttl="30")
        self.post(url, **living("5s"))
        self.advance(5)
        self.dies(url)
        self.advance(20)
        self.assertEqual(self.counts(self.dead), (1, 0, 0))
        self.advance(10)
        self.assertEqual(self.counts(self.dead), (0, 0, 0))

    def test_a_group_keeps_its_order(self):
        dead = self.fifo("dead.fifo")
        url = self.fifo(RedrivePolicy=redrive_to("dead.fifo"), x_dlq_on_expiry="true", x_message_ttl="5")
        for body in "abc":
            self.post(url, body, MessageGroupId="g")
        self.advance(6)
        moved, end = [], time.monotonic() + 10
        while len(moved) < 3 and time.monotonic() < end:
            moved += self.take(dead)
        self.assertEqual((self.counts(url), moved), ((0, 0, 0), ["a", "b", "c"]))


class Verb(Expiring):
    def test_send_takes_a_time(self):
        url = self.queue()
        self.verb("send", "q", "one", "--ttl", "5s")
        lines = pathlib.Path(self.place, "lines")
        lines.write_text('"two"\n{"MessageBody":"three"}\n')
        self.verb("send", "q", "--jsonl", str(lines), "--ttl", "10")
        self.assertEqual(self.counts(url), (3, 0, 0))
        self.advance(5)
        self.assertEqual(self.counts(url), (2, 0, 0))
        messages = self.received(url, AttributeNames=["x-ttl"], VisibilityTimeout=0)
        self.assertEqual([(m["Body"], m["Attributes"]["x-ttl"]) for m in messages], [("two", "10"), ("three", "10")])
        self.advance(5)
        self.assertEqual(self.counts(url), (0, 0, 0))

    def test_explain_names_the_rule(self):
        url = self.queue(x_message_ttl="20m")
        self.post(url)
        self.post(url, **living("90s"))
        self.post(url, DelaySeconds=60, **living("90s"))
        for number, words in (
                ("1", r"By the queue's x-message-ttl at its send it lives for 20 min from when it first becomes visible\. "
                      r"It expires in (19|20) min\."),
                ("2", r"By its x-ttl it lives for 1 min from when it first becomes visible\. It expires in 1 min\."),
                ("3", r"^It is delayed: .* By its x-ttl it lives for 1 min .* It expires in 2 min\.")):
            self.assertRegex(self.verb("explain", "q", number), words)
        plain = self.queue("plain")
        self.post(plain)
        self.assertRegex(self.verb("explain", "plain", "1"), r"^It is visible: the next receives return it\. It expires in 4 days\.")
        self.advance(90)
        self.assertRegex(self.verb("explain", "q", "2", code=3), r"^It has left the queue: .*its time to live ended")


class AfterAKill(unittest.TestCase):
    def test_times_to_live_survive(self):
        server = Pawl(PAWL, extra=["--shards", "1"]).start()
        self.addCleanup(server.remove_data)
        sqs = client_of(server.url)
        url = sqs.create_queue(QueueName="dead")["QueueUrl"]
        url = sqs.create_queue(QueueName="q", Attributes={"x-dlq-on-expiry": "true", "RedrivePolicy": redrive_to("dead")})["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="stays", **living("14d"))
        began = time.monotonic()
        sqs.send_message(QueueUrl=url, MessageBody="goes", **living("3s"))
        sqs.send_message(QueueUrl=url, MessageBody="goes later", DelaySeconds=1, **living("4s"))
        sqs.close()
        sqs = killed_and_restarted(self, server)
        url, dead = (sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in ("q", "dead"))
        letters = []
        while len(letters) < 2:
            self.assertLess(time.monotonic(), began + 60, letters)
            letters += sqs.receive_message(QueueUrl=dead, WaitTimeSeconds=10, AttributeNames=["x-dead-letter-reason"]).get("Messages", [])
        self.assertGreaterEqual(time.monotonic(), began + 5, "early")
        self.assertEqual([(letter["Body"], letter["Attributes"]) for letter in letters], [("goes", EXPIRED), ("goes later", EXPIRED)])
        self.assertEqual([m["Body"] for m in sqs.receive_message(QueueUrl=url)["Messages"]], ["stays"])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
