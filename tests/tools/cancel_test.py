#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages by their ids, x-id:, and uncounted returns, through boto3, raw calls and the verbs."""

import datetime
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest
import urllib.parse
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from dev_test import DevPawl, page, wait_until_free  # noqa: E402
from peek_test import MOVED, ROOT, Verbs  # noqa: E402

NOBODYS = "01234567-89ab-cdef-fedc-ba9876543210"
KIND = {"kind": {"DataType": "String", "StringValue": "spam"}}


class ById(Verbs):
    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.place, "data")
        self.restarted = None
        self.pawl.call("CreateQueue", QueueName="q")
        self.use(self.pawl)

    def use(self, pawl):
        self.sqs = boto3.client("sqs", endpoint_url=pawl.url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
                                config=Config(retries={"max_attempts": 1}))
        self.url = f"{pawl.url}/000000000000/q"

    def serve_and_kill(self, act):
        """Runs act() against a server that is killed then, and goes on with its successor."""
        first = DevPawl(self.place, "--data", self.data)
        self.addCleanup(first.__exit__, None, None, None)
        self.use(first)
        self.sqs.create_queue(QueueName="q")
        outcome = act()
        first.stop(signal.SIGKILL)
        wait_until_free(os.path.join(self.data, "LOCK"))
        self.pawl = DevPawl(self.place, "--data", self.data)
        self.addCleanup(self.pawl.__exit__, None, None, None)
        self.use(self.pawl)
        return outcome

    def message(self, body="m", **more):
        return self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **more)["MessageId"]

    def cancel(self, message_id, suffix=""):
        answer = self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=f"x-id:{message_id}{suffix}")
        return answer["ResponseMetadata"]["HTTPHeaders"].get("x-pawl-cancel")

    def change(self, handle, seconds):
        self.sqs.change_message_visibility(QueueUrl=self.url, ReceiptHandle=handle, VisibilityTimeout=seconds)

    def reschedule(self, message_id, seconds):
        self.change(f"x-id:{message_id}", seconds)

    def receive(self, wait=0, **more):
        return self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=wait, AttributeNames=["All"],
                                        **more).get("Messages", [])

    def bodies(self, wait=0):
        return [message["Body"] for message in self.receive(wait)]

    def refused(self, code, *words):
        """A context that expects a ClientError with the code and these words."""
        test = self

        class Refused:
            def __enter__(self):
                return self

            def __exit__(self, kind, error, trace):
                test.assertIsInstance(error, ClientError)
                test.assertEqual(error.response["Error"]["Code"], code)
                for word in words:
                    test.assertIn(word, error.response["Error"]["Message"])
                return True

        return Refused()

    def states(self):
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
        counts = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return tuple(int(counts[name]) for name in names)


class Cancel(ById):
    def test_page_can_be_followed(self):
        self.run_documented("CANCELLING.md", 7)

    def test_python_of_the_page_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "tools" / "CANCELLING.md").read_text(), re.S | re.M)
        self.assertEqual(len(blocks), 3)
        for block in blocks:
            exec(block, {"sqs": self.sqs, "url": self.url, "print": lambda text: self.assertEqual(text, "cancelled")})

    def test_waiting_and_delayed_messages_are_deleted(self):
        waiting, delayed, kept = self.message(), self.message(DelaySeconds=900), self.message("kept")
        self.assertEqual(self.states(), (2, 0, 1))
        self.assertEqual(self.cancel(waiting), "cancelled")
        self.assertEqual(self.cancel(delayed.upper()), "cancelled")
        self.assertEqual(self.cancel(waiting), "gone")
        self.assertEqual(self.states(), (1, 0, 0))
        (message,) = self.receive()
        self.assertEqual(message["MessageId"], kept)
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        self.assertEqual(self.cancel(kept), "gone")
        status, text = page("http://" + self.pawl.ready["admin"], "GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(text, r"\npawl_global_messages_cancelled_total 2\n")
        (figures,) = self.action("Pawl.ListQueueStatistics")[1]["Queues"]
        self.assertEqual(figures["Statistics"]["NumberOfMessagesCancelled"], 2)

    def test_a_message_in_flight_is_refused(self):
        message = self.message()
        (received,) = self.receive()
        with self.refused("PawlMessageInFlight", message, "is in flight", "append ;x-even-in-flight"):
            self.cancel(message)
        with self.refused("PawlMessageInFlight", message, "Try again later."):
            self.reschedule(message, 0)
        self.change(received["ReceiptHandle"], 0)
        self.assertEqual(self.bodies(), ["m"], "it is not lost")

    def test_a_message_in_flight_can_be_cancelled_at_its_return(self):
        message = self.message()
        (received,) = self.receive()
        self.assertEqual(self.cancel(message, ";x-even-in-flight"), "cancelled")
        self.assertRegex(self.verb("explain", "q", message), r"^A consumer at 127\.0\.0\.1 has received it\. It is cancelled: it is deleted when "
                         r"its consumer gives it back or its visibility timeout ends, in 29\.\d s\.")
        self.assertEqual(self.states(), (0, 1, 0))
        self.change(received["ReceiptHandle"], 0)
        self.assertEqual(self.states(), (0, 0, 0))
        self.assertEqual(self.bodies(), [])

    def test_a_cancelled_message_ends_with_its_visibility_timeout(self):
        message = self.message()
        self.receive(VisibilityTimeout=1)
        self.assertEqual(self.cancel(message, ";x-even-in-flight"), "cancelled")
        end = time.monotonic() + 30
        while self.states() != (0, 0, 0) and time.monotonic() < end:
            self.assertEqual(self.bodies(), [])
            time.sleep(0.1)
        self.assertEqual(self.states(), (0, 0, 0))

    def test_its_consumer_may_still_delete_it(self):
        message = self.message()
        (received,) = self.receive()
        self.cancel(message, ";x-even-in-flight")
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=received["ReceiptHandle"])
        self.assertEqual(self.states(), (0, 0, 0))
        self.assertEqual(self.cancel(message), "gone")

    def test_a_cancel_survives_a_kill(self):
        def act():
            ids = [self.message(), self.message(DelaySeconds=900), self.message()]
            (received,) = self.receive(VisibilityTimeout=3600)[:1]
            in_flight = received["MessageId"]
            outcomes = [self.cancel(message, ";x-even-in-flight" if message == in_flight else "") for message in ids[:2]]
            return ids, outcomes

        ids, outcomes = self.serve_and_kill(act)
        self.assertEqual(outcomes, ["cancelled", "cancelled"])
        self.assertEqual(self.states()[2], 0, "the delayed one is gone")
        self.assertEqual(self.cancel(ids[1]), "gone")
        self.assertRegex(self.verb("explain", "q", ids[0]), "It is cancelled")

    def test_batches_answer_in_their_order(self):
        here, gone, flying = self.message("here"), self.message("gone"), self.message("flying")
        (received,) = [message for message in self.receive(VisibilityTimeout=3600) if message["Body"] == "flying"]
        for message in self.rows("q"):
            self.assertEqual(message["state"], "in_flight")
        here, gone = self.message("here"), self.message("gone")
        self.cancel(gone)
        handles = [f"x-id:{gone}", f"x-id:{flying}", received["ReceiptHandle"], f"x-id:{here}", "x-id:7"]
        answer = self.sqs.delete_message_batch(QueueUrl=self.url, Entries=[{"Id": str(i), "ReceiptHandle": h} for i, h in enumerate(handles)])
        self.assertEqual(answer["ResponseMetadata"]["HTTPHeaders"]["x-pawl-cancel"], "gone,-,-,cancelled,-")
        self.assertEqual([entry["Id"] for entry in answer["Successful"]], ["0", "2", "3"])
        self.assertEqual({entry["Id"]: entry["Code"] for entry in answer["Failed"]}, {"1": "PawlMessageInFlight", "4": "ReceiptHandleIsInvalid"})
        (sent,) = self.send("q", "m")
        answer = self.sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=[
            {"Id": "a", "ReceiptHandle": f"x-id:{sent}", "VisibilityTimeout": 900}, {"Id": "b", "ReceiptHandle": f"x-id:{gone}", "VisibilityTimeout": 0}])
        self.assertEqual([entry["Id"] for entry in answer["Successful"]], ["a"])
        self.assertIn("Message does not exist", answer["Failed"][0]["Message"])
        self.assertNotIn("x-pawl-cancel", answer["ResponseMetadata"]["HTTPHeaders"])

    def test_a_cancelled_head_frees_its_group(self):
        self.url = self.sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})["QueueUrl"]
        ids = [self.message(body, MessageGroupId="g") for body in ("first", "second", "third", "fourth")]
        self.assertEqual([self.cancel(ids[0]), self.cancel(ids[2])], ["cancelled", "cancelled"])
        (received,) = self.sqs.receive_message(QueueUrl=self.url, VisibilityTimeout=3600)["Messages"]
        self.assertEqual(received["Body"], "second")
        self.assertEqual(self.cancel(ids[1], ";x-even-in-flight"), "cancelled")
        self.assertEqual(self.bodies(), [], "its consumer still has it")
        self.change(received["ReceiptHandle"], 0)
        self.assertEqual(self.bodies(), ["fourth"])

    def test_other_deletes_have_no_header(self):
        self.message()
        (received,) = self.receive()
        answer = self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=received["ReceiptHandle"])
        self.assertNotIn("x-pawl-cancel", answer["ResponseMetadata"]["HTTPHeaders"])

    def test_moved_messages_have_no_id(self):
        self.sqs.create_queue(QueueName="dead")
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes={"RedrivePolicy": MOVED})
        message = self.message()
        self.receive(VisibilityTimeout=0)
        self.assertEqual(self.bodies(), [])
        end = time.monotonic() + 30
        while not self.rows("dead") and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.cancel(message), "gone", "of its first queue")
        self.url = self.url.replace("/q", "/dead")
        with self.refused("ReceiptHandleIsInvalid", "A dead letter keeps the MessageId of its first queue"):
            self.cancel(message)
        with self.refused("ReceiptHandleIsInvalid", "A dead letter keeps the MessageId of its first queue"):
            self.reschedule(message, 0)
        self.assertEqual(self.bodies(), ["m"])

    def test_the_query_protocol_cancels_too(self):
        message = self.message()
        form = urllib.parse.urlencode({"Action": "DeleteMessage", "QueueUrl": self.url, "ReceiptHandle": f"x-id:{message}"})
        with urllib.request.urlopen(self.pawl.url, form.encode(), timeout=10) as answer:
            self.assertEqual(answer.headers["x-pawl-cancel"], "cancelled")
            self.assertIn("<DeleteMessageResponse", answer.read().decode())
        message = self.message(DelaySeconds=900)
        form = urllib.parse.urlencode({"Action": "ChangeMessageVisibility", "QueueUrl": self.url, "ReceiptHandle": f"x-id:{message}",
                                       "VisibilityTimeout": "0"})
        with urllib.request.urlopen(self.pawl.url, form.encode(), timeout=10) as answer:
            self.assertEqual(answer.status, 200)
        self.assertEqual(self.bodies(), ["m"])


class Reschedule(ById):
    def test_a_delayed_message_comes_at_once(self):
        message = self.message(DelaySeconds=900)
        self.reschedule(message, 0)
        (received,) = self.receive()
        self.assertEqual((received["MessageId"], received["Attributes"]["ApproximateReceiveCount"]), (message, "1"))

    def test_a_long_poll_wakes(self):
        message = self.message(DelaySeconds=900)
        self.reschedule(message, 1)
        self.assertEqual(self.bodies(wait=20), ["m"])

    def test_a_waiting_message_comes_later(self):
        message = self.message()
        self.reschedule(message, 900)
        self.assertEqual((self.bodies(), self.states()), ([], (0, 0, 1)))
        self.assertRegex(self.verb("explain", "q", message), r"^It is delayed: receives return it in (14|15) min\.")
        self.reschedule(message, 0)
        self.assertEqual(self.bodies(), ["m"])

    def test_it_survives_a_kill(self):
        def act():
            soon, later = self.message("soon", DelaySeconds=900), self.message("later")
            self.reschedule(soon, 0)
            self.reschedule(later, 900)

        self.serve_and_kill(act)
        self.assertEqual(self.bodies(), ["soon"])
        self.assertEqual(self.states(), (0, 1, 1))

    def test_a_message_of_a_fifo_queue_keeps_its_place(self):
        self.url = self.sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})["QueueUrl"]
        first = self.message("first", MessageGroupId="g")
        self.message("second", MessageGroupId="g")
        self.reschedule(first, 900)
        self.assertEqual(self.bodies(), [])
        self.reschedule(first, 0)
        self.assertEqual(self.bodies(), ["first", "second"])

    def test_limits_and_mistakes_are_named(self):
        message = self.message()
        with self.refused("InvalidParameterValue", "Value 901 for parameter VisibilityTimeout", "between 0 and 900", "x-max-delay"):
            self.reschedule(message, 901)
        with self.refused("InvalidParameterValue", "Message does not exist"):
            self.cancel(message)
            self.reschedule(message, 0)
        with self.refused("ReceiptHandleIsInvalid", NOBODYS, "does not name a message that was sent to the queue q"):
            self.reschedule(NOBODYS, 0)
        with self.refused("ReceiptHandleIsInvalid", '"7" is not a MessageId'):
            self.reschedule("7", 0)
        with self.refused("ReceiptHandleIsInvalid", "The suffix ;x-even-in-flight belongs to DeleteMessage"):
            self.reschedule(message + ";x-even-in-flight", 0)
        with self.refused("ReceiptHandleIsInvalid", "Unknown suffix", 'Did you mean ";x-even-in-flight"?'):
            self.cancel(message, ";x-even-in-fligth")
        with self.refused("ReceiptHandleIsInvalid", "is not a valid receipt handle."):
            self.change("X-ID:" + message, 0)


class ReturnUncounted(ById):
    def test_the_delivery_does_not_count(self):
        self.sqs.create_queue(QueueName="dead")
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes={"RedrivePolicy": MOVED})
        self.message()
        for _ in range(4):
            (received,) = self.receive()
            self.assertEqual(received["Attributes"]["ApproximateReceiveCount"], "1")
            self.change(received["ReceiptHandle"] + ";x-return=uncounted", 0)
        self.assertEqual(self.rows("dead"), [])

    def test_it_waits_as_long_as_it_says(self):
        self.message()
        (received,) = self.receive()
        self.change(received["ReceiptHandle"] + ";x-return=uncounted,delay=15m", 0)
        self.assertEqual((self.bodies(), self.states()), ([], (0, 0, 1)))
        self.message("other")
        (received,) = self.receive()
        self.change(received["ReceiptHandle"] + ";x-return=uncounted", 1)
        self.assertEqual(self.bodies(wait=20), ["other"])

    def test_it_survives_a_kill(self):
        def act():
            self.message("back")
            self.message("later")
            for received in self.receive(VisibilityTimeout=3600):
                delay = ",delay=1h" if received["Body"] == "later" else ""
                self.change(received["ReceiptHandle"] + ";x-return=uncounted" + delay, 0)

        self.serve_and_kill(act)
        self.assertEqual(self.states(), (1, 0, 1))
        self.assertEqual({received["Body"]: received["Attributes"]["ApproximateReceiveCount"] for received in self.receive()},
                         {"back": "1"})

    def test_mistakes_are_named(self):
        self.message()
        (received,) = self.receive()
        handle = received["ReceiptHandle"]
        for suffix, words in ((";x-return=counted", "it is uncounted, or uncounted,delay=30s"), (";x-return", "Did you mean"),
                              (";x-return=uncounted,delay=soon", "write a duration as 250ms"),
                              (";x-return=uncounted,delay=13h", 'delay is "13h"; the longest visibility timeout of the queue, 43200 s'),
                              (";x-reject=bad", "Unknown suffix")):
            with self.subTest(suffix), self.refused("ReceiptHandleIsInvalid", words):
                self.change(handle + suffix, 0)
        with self.refused("ReceiptHandleIsInvalid", "belongs to ChangeMessageVisibility"):
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=handle + ";x-return=uncounted")
        self.change(handle + ";x-return=uncounted", 0)
        with self.refused("InvalidParameterValue"):
            self.change(handle + ";x-return=uncounted", 0)


class OfTheVerbs(ById):
    def test_cancel_counts_what_it_did(self):
        here, gone, flying = self.message(), self.message(), self.message()
        self.cancel(gone)
        self.assertEqual(self.verb("cancel", "q", here), "Cancelled 1 of 1 messages.\n")
        self.assertEqual(self.verb("cancel", "q", here, gone, code=3), "Cancelled 0 of 2 messages; 2 gone before.\n")
        self.assertEqual(self.verb("cancel", "q", "--id", here, "--id", gone, code=3), "Cancelled 0 of 2 messages; 2 gone before.\n")
        self.receive(VisibilityTimeout=3600)
        said = self.verb("cancel", "q", flying, code=1)
        self.assertIn(f"error: message {flying} is in flight", said)
        self.assertIn("add --even-in-flight", said)
        self.assertEqual(self.verb("cancel", "q", flying, "--even-in-flight"), "Cancelled 1 of 1 messages.\n")
        self.assertIn("does not name a message", self.verb("cancel", "q", NOBODYS, code=3))
        self.assertIn('no queue "none"', self.verb("cancel", "none", here, code=3))

    def test_cancel_by_filter_needs_a_yes(self):
        spam = [self.message(f"spam {i}", MessageAttributes=KIND) for i in range(25)]
        self.message("other")
        words = ("cancel", "q", "--filter", '{"kind": ["spam"]}')
        said = self.verb(*words, code=2)
        self.assertIn('queue "q" has 25 matching messages, which would be deleted. Add --yes', said)
        self.assertEqual(self.states(), (26, 0, 0))
        self.assertEqual(self.verb(*words, "--yes"), "Cancelled 25 of 25 messages.\n")
        self.assertEqual(self.verb(*words), "Cancelled 0 of 0 messages.\n")
        self.assertEqual(self.bodies(), ["other"])
        self.assertEqual(self.cancel(spam[7]), "gone")

    def test_cancel_by_filter_deletes_dead_letters(self):
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        self.pawl.call("CreateQueue", QueueName="worn", Attributes={
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}), "x-dead-letter-at": "lease-end"})
        self.pawl.call("SendMessage", QueueUrl="worn", MessageBody="m", MessageAttributes=KIND)
        handle = self.pawl.call("ReceiveMessage", QueueUrl="worn")["Messages"][0]["ReceiptHandle"]
        self.pawl.call("ChangeMessageVisibility", QueueUrl="worn", ReceiptHandle=handle, VisibilityTimeout=0)
        (dead,) = self.rows("q")
        self.assertIn("does not name a message that was sent to the queue q", self.verb("cancel", "q", dead["id"], code=3))
        self.assertEqual(self.verb("cancel", "q", "--filter", '{"kind": ["spam"]}', "--yes"), "Cancelled 1 of 1 messages.\n")
        self.assertEqual(self.rows("q"), [])

    def test_reschedule_takes_a_duration_or_a_time(self):
        first, second = self.message("first", DelaySeconds=900), self.message("second")
        self.assertEqual(self.verb("reschedule", "q", first, "--in", "0"), "Rescheduled 1 of 1 messages.\n")
        soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.assertEqual(self.verb("reschedule", "q", second, "--at", soon), "Rescheduled 1 of 1 messages.\n")
        delayed = next(row for row in self.rows("q") if row["body"] == "second")
        self.assertAlmostEqual(delayed["visible_at"] / 1000, time.time() + 600, delta=30)
        self.assertEqual(self.bodies(), ["first"])
        self.assertIn("x-max-delay", self.verb("reschedule", "q", second, "--in", "16m", code=1))
        self.assertIn("is in flight", self.verb("reschedule", "q", first, "--in", "0", code=1))

    def test_reschedule_by_filter(self):
        self.message("spam", MessageAttributes=KIND)
        self.message("other")
        self.assertEqual(self.verb("reschedule", "q", "--filter", '{"kind": ["spam"]}', "--in", "15m"), "Rescheduled 1 of 1 messages.\n")
        self.assertEqual(self.bodies(), ["other"])

    def test_peek_takes_a_filter(self):
        self.message("spam", MessageAttributes=KIND)
        self.message("other")
        self.assertEqual([row["body"] for row in self.rows("q", "--filter", '{"kind": ["spam"]}')], ["spam"])
        status, answer = self.action("Pawl.PeekMessages", QueueUrl="q", FilterPolicy='{"kind": "spam"}')
        self.assertEqual(status, 400)
        self.assertIn("FilterPolicy is no filter policy", json.dumps(answer))


class Strict(ById):
    words = ("--strict-sqs",)

    def test_ids_are_taken_as_attributes_are(self):
        self.assertEqual(self.cancel(self.message()), "cancelled")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
