#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages of schedules made through EventBridge Scheduler's API: when, which, how often, and where to."""

import datetime
import json
import sys
import time
import unittest

from scheduler_api_test import ROLE, UTC, Scheduler, target


class Firing(Scheduler):
    """Messages of schedules. Their times are whole seconds, and a rate without a start fires at once."""

    def setUp(self):
        super().setUp()
        self.sqs = self.client("sqs")

    def queue(self, name="q", **attributes):
        return self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def receive(self, queue, wait=10, **words):
        answer = self.sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=wait, MaxNumberOfMessages=10, AttributeNames=["All"],
                                          MessageAttributeNames=["All"], **words)
        return answer.get("Messages", [])

    @staticmethod
    def at(seconds):
        """An expression for so many seconds from now, and its time."""
        due = datetime.datetime.now(UTC).replace(microsecond=0) + datetime.timedelta(seconds=seconds)
        return due.strftime("at(%Y-%m-%dT%H:%M:%S)"), due

    def test_a_schedule_fires_once_at_its_time(self):
        queue = self.queue()
        expression, due = self.at(2)
        self.create("once", ScheduleExpression=expression, Target=target(
            Input="<aws.scheduler.schedule-arn> <aws.scheduler.scheduled-time> <aws.scheduler.attempt-number>"))
        (message,) = self.receive(queue)
        self.assertEqual(message["Body"], f"arn:aws:scheduler:us-east-1:000000000000:schedule/default/once {due:%Y-%m-%dT%H:%M:%SZ} 1")
        said = self.pawl.page("POST", "/", {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "Pawl.ExplainMessage"},
                              json.dumps({"QueueUrl": queue, "MessageId": message["MessageId"]}))[1]
        self.assertIn(f"The schedule default/once sent it, for {due:%Y-%m-%dT%H:%M:%SZ}.", said)
        late = int(message["Attributes"]["SentTimestamp"]) - due.timestamp() * 1000
        self.assertTrue(0 <= late < 1000, f"{late} ms late")
        self.assertEqual(self.receive(queue, 1), [])
        self.assertEqual(self.api.get_schedule(Name="once")["State"], "ENABLED", "it is kept without ActionAfterCompletion")

    def test_a_schedule_without_input_describes_itself(self):
        queue = self.queue()
        self.create("n", ScheduleExpression="rate(1 minute)")
        (message,) = self.receive(queue)
        body = json.loads(message["Body"])
        self.assertEqual((body["detail-type"], body["source"], body["account"], body["resources"], body["detail"]),
                         ("Scheduled Event", "aws.scheduler", "000000000000",
                          ["arn:aws:scheduler:us-east-1:000000000000:schedule/default/n"], "{}"))

    def test_a_schedule_is_deleted_a_minute_after_its_last_fire(self):
        queue = self.queue()
        body = {"ScheduleExpression": self.at(1)[0], "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target(Input="x"),
                "ActionAfterCompletion": "DELETE"}
        self.assertEqual(self.rest("POST", "/schedules/n", body)[0], 200)
        self.assertEqual(len(self.receive(queue)), 1)
        end = time.monotonic() + 90
        while self.rest("GET", "/schedules/n")[0] == 200 and time.monotonic() < end:
            time.sleep(1)
        self.assertEqual(self.rest("GET", "/schedules/n")[0], 404)

    def test_a_change_never_fires_a_schedule(self):
        queue = self.queue()
        self.create("n", ScheduleExpression="rate(1 hour)", Target=target(Input="x"))
        self.assertEqual(len(self.receive(queue)), 1)
        for words in ({"ScheduleExpression": "rate(1 minute)"}, {"State": "DISABLED"}, {"State": "ENABLED"},
                      {"ScheduleExpressionTimezone": "Europe/Berlin"}):
            self.update("n", Target=target(Input="y"), **{"ScheduleExpression": "rate(1 hour)", **words})
        self.assertEqual(self.receive(queue, 2), [])

    def test_schedules_fire_when_the_clock_is_advanced(self):
        queue = self.queue()
        self.create("n", ScheduleExpression="rate(1 hour)", Target=target(Input="x"))
        def fired():
            messages = self.receive(queue)
            for message in messages:  # it would come back: the advance ends its visibility timeout
                self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            return len(messages)
        self.assertEqual(fired(), 1)
        for by in ("1h", "5h"):  # of several missed fires the last takes place
            self.assertEqual(self.pawl.page("POST", "/_pawl/clock", body=json.dumps({"advance": by}))[0], 200)
            self.assertEqual(fired(), 1)
            self.assertEqual(self.receive(queue, 1), [])

    def test_a_disabled_schedule_does_not_fire(self):
        queue = self.queue()
        self.create("n", ScheduleExpression="rate(1 minute)", State="DISABLED")
        self.create("m", ScheduleExpression=self.at(1)[0], State="DISABLED")
        self.create("deleted", ScheduleExpression=self.at(1)[0])
        self.api.delete_schedule(Name="deleted")
        self.assertEqual(self.receive(queue, 3), [])

    def test_a_fifo_queue_gets_each_fire_once_in_its_group(self):
        queue = self.queue("q.fifo", FifoQueue="true")
        self.create("n", ScheduleExpression="rate(1 minute)", Target=target("q.fifo", Input="x", SqsParameters={"MessageGroupId": "g"}))
        (message,) = self.receive(queue)
        self.assertEqual(message["Attributes"]["MessageGroupId"], "g")
        self.assertTrue(message["Attributes"]["MessageDeduplicationId"])

    def test_a_topic_hands_the_message_to_its_subscriptions(self):
        sns = self.client("sns")
        topic = sns.create_topic(Name="t")["TopicArn"]
        queues = {name: self.queue(name) for name in ("raw", "envelope", "filtered")}
        for name, attributes in (("raw", {"RawMessageDelivery": "true"}), ("envelope", {}),
                                 ("filtered", {"FilterPolicyScope": "MessageBody", "FilterPolicy": '{"n":[2]}'})):
            sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:us-east-1:000000000000:{name}", Attributes=attributes)
        self.create("n", ScheduleExpression="rate(1 minute)", Target={"Arn": topic, "RoleArn": ROLE, "Input": '{"n":1}'})
        self.assertEqual([one["Body"] for one in self.receive(queues["raw"])], ['{"n":1}'])
        (message,) = self.receive(queues["envelope"])
        body = json.loads(message["Body"])
        self.assertEqual((body["Type"], body["TopicArn"], body["Message"]), ("Notification", topic, '{"n":1}'))
        self.assertEqual(self.receive(queues["filtered"], 1), [])

    def test_a_missing_target_leaves_a_dead_letter(self):
        queue = self.queue("dead")
        arn = "arn:aws:sqs:us-east-1:000000000000:dead"
        self.create("n", ScheduleExpression="rate(1 minute)", Target=target("gone", Input="x", DeadLetterConfig={"Arn": arn}))
        (message,) = self.receive(queue)
        self.assertEqual(message["Body"], "x")
        texts = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
        self.assertEqual(texts["ERROR_CODE"], "AWS.SimpleQueueService.NonExistentQueue")
        self.assertEqual(texts["TARGET_ARN"], "arn:aws:sqs:us-east-1:000000000000:gone")
        self.assertEqual(texts["SCHEDULE_ARN"], "arn:aws:scheduler:us-east-1:000000000000:schedule/default/n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
