#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--strict-sqs: AWS's wait of 60 s for a deleted queue's name, and subscriptions of missing queues.

A second purge waits with and without it. Each wait also over kills."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from binary import Binary  # noqa: E402
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wire import Connection, Json, Query, Refused  # noqa: E402

CODES = {"json": "AWS.SimpleQueueService.QueueDeletedRecently", "query": "AWS.SimpleQueueService.QueueDeletedRecently",
         "binary": "queue_deleted_recently"}


class StrictSqs(unittest.TestCase):
    def setUp(self):
        self.pawl = Pawl(pawl_server.ServedTest.binary)
        self.addCleanup(self.pawl.remove_data)

    def start(self, *words, **environment):
        self.pawl.extra = list(words)
        before = dict(os.environ)
        os.environ.update(environment)
        try:
            self.pawl.start()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def created(self, kind, name="q"):
        """The code that the create is refused with, or "ok"."""
        voice = kind(self.pawl)
        try:
            voice.call("CreateQueue", QueueName=name, Attributes={})
            return "ok"
        except Refused as refused:
            if refused.status < 1000:
                self.assertEqual(refused.status, 400)
                self.assertEqual(refused.message, "You must wait 60 seconds after deleting a queue before you can create "
                                 "another with the same name.")
            return refused.code
        finally:
            voice.close()

    def make_and_delete(self, name="q"):
        json = Json(self.pawl)
        json.call("DeleteQueue", QueueUrl=json.call("CreateQueue", QueueName=name)["QueueUrl"])
        json.close()

    def assert_waits(self):
        for kind in (Json, Query, Binary):
            with self.subTest(kind.name):
                self.assertEqual(self.created(kind), CODES[kind.name])

    def test_the_name_of_a_deleted_queue_waits_over_kills_and_stops(self):
        self.start("--strict-sqs")
        self.make_and_delete()
        self.assert_waits()
        self.pawl.kill()
        config = pathlib.Path(self.pawl.data + ".toml")
        config.write_text("[sqs]\nstrict-sqs = true\n")
        self.addCleanup(config.unlink)
        self.start("--config", str(config))
        self.assert_waits()
        self.assertEqual(self.pawl.stop(), 0)
        self.start(PAWL_SQS_STRICT_SQS="yes")
        self.assert_waits()
        self.assertEqual(self.created(Json, "another"), "ok")
        self.pawl.kill()
        self.start("--strict-sqs", "no")
        self.assertEqual(self.created(Json), "ok")
        self.pawl.kill()

    def test_without_the_flag_the_name_is_free_at_once(self):
        self.start()
        self.make_and_delete()
        self.assertEqual(self.created(Query), "ok")
        self.pawl.kill()

    def test_a_missing_queue_can_be_subscribed_only_with_the_flag(self):
        for flag, status in (("no", 400), ("yes", 200)):
            self.start("--strict-sqs", flag)
            connection = Connection(self.pawl)
            form = {"content-type": "application/x-www-form-urlencoded"}
            ask = lambda text: connection.ask(headers=form, body=text.encode())  # noqa: E731
            self.assertEqual(ask("Action=CreateTopic&Version=2010-03-31&Name=t").status, 200)
            answer = ask("Action=Subscribe&Version=2010-03-31&TopicArn=arn:aws:sns:us-east-1:000000000000:t"
                         "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:missing")
            self.assertEqual(answer.status, status, answer.body)
            connection.close()
            self.pawl.kill()

    def test_a_second_purge_waits_over_a_kill(self):
        self.start()
        json = Json(self.pawl)
        url = json.call("CreateQueue", QueueName="q")["QueueUrl"]
        json.call("PurgeQueue", QueueUrl=url)
        json.close()
        self.pawl.kill()
        self.start()
        json = Json(self.pawl)
        with self.assertRaises(Refused) as refused:
            json.call("PurgeQueue", QueueUrl=url.replace(url.split("/")[2], self.pawl.ready["http"]))
        self.assertEqual(refused.exception.code, "AWS.SimpleQueueService.PurgeQueueInProgress")
        json.close()
        self.pawl.kill()


if __name__ == "__main__":
    main()
