#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""EventBridge Scheduler's API through boto3: each action, each error, and the behaviour that AWS publishes."""

import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import boto3
import botocore.config
import botocore.exceptions
from dev_test import ROOT, DevPawl

UTC = datetime.timezone.utc
ROLE = "arn:aws:iam::000000000000:role/scheduler"
KEYS = """[[key]]
id = "AKIDONE"
secret = "the-secret-of-one-which-is-long-enough"
account = "111122223333"

[[key]]
id = "AKIDTWO"
secret = "the-secret-of-two-which-is-long-enough"
account = "222233334444"
"""


def client_of(pawl, service, key="x", secret="x"):
    return boto3.client(service, endpoint_url=pawl.url, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret,
                        config=botocore.config.Config(retries={"max_attempts": 0}))


def target(queue="q", account="000000000000", **more):
    return {"Arn": f"arn:aws:sqs:us-east-1:{account}:{queue}", "RoleArn": ROLE, **more}


class Scheduler(unittest.TestCase):
    words = ()

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="scheduler-api-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        keys = pathlib.Path(self.place, "keys.toml")
        keys.touch(0o600)
        keys.write_text(KEYS)
        self.pawl = DevPawl(self.place, "--shards", "2", *(word.format(keys=keys) for word in self.words)).__enter__()
        self.addCleanup(self.pawl.__exit__, None, None, None)
        self.api = self.client("scheduler")

    def client(self, service, *key):
        client = client_of(self.pawl, service, *key)
        self.addCleanup(client.close)
        return client

    def create(self, name, api=None, **more):
        words = {"ScheduleExpression": "rate(5 minutes)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target(), **more}
        return (api or self.api).create_schedule(Name=name, **words)

    def update(self, name, **more):
        words = {"ScheduleExpression": "rate(5 minutes)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target(), **more}
        return self.api.update_schedule(Name=name, **words)

    def refused(self, code, call, *words, **more):
        """The message of an error with this code."""
        with self.assertRaises(botocore.exceptions.ClientError) as raised:
            call(*words, **more)
        answer = raised.exception.response
        self.assertEqual(answer["Error"]["Code"], code, answer)
        status = {"ValidationException": 400, "ResourceNotFoundException": 404, "ConflictException": 409}.get(code)
        if status:
            self.assertEqual(answer["ResponseMetadata"]["HTTPStatusCode"], status)
            self.assertIsInstance(raised.exception, getattr(self.api.exceptions, code))
        return answer["Error"]["Message"]

    def rest(self, method, path, body=None):
        """A request that this boto3 cannot make."""
        status, text = self.pawl.page(method, path, {"Content-Type": "application/json"}, json.dumps(body) if body else "")
        return status, json.loads(text)


class Schedules(Scheduler):
    def test_a_schedule_is_created_described_changed_and_deleted(self):
        made = self.create("hourly", Description="d", ScheduleExpression="cron(0 * * * ? *)", ScheduleExpressionTimezone="Europe/Berlin")
        arn = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly"
        self.assertEqual(made["ScheduleArn"], arn)
        self.assertEqual(made["ResponseMetadata"]["HTTPStatusCode"], 200)
        self.assertTrue(made["ResponseMetadata"]["RequestId"])
        got = self.api.get_schedule(Name="hourly")
        self.assertEqual((got["Arn"], got["Name"], got["GroupName"], got["State"]), (arn, "hourly", "default", "ENABLED"))
        self.assertEqual((got["Description"], got["ScheduleExpression"], got["ScheduleExpressionTimezone"]),
                         ("d", "cron(0 * * * ? *)", "Europe/Berlin"))
        self.assertEqual(got["FlexibleTimeWindow"], {"Mode": "OFF"})
        self.assertEqual(got["Target"], target(RetryPolicy={"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}))
        self.assertEqual(got["CreationDate"], got["LastModificationDate"])
        self.assertLess(abs((datetime.datetime.now(UTC) - got["CreationDate"]).total_seconds()), 60)
        self.assertEqual(self.update("hourly", State="DISABLED")["ScheduleArn"], arn)
        after = self.api.get_schedule(Name="hourly", GroupName="default")
        self.assertEqual((after["State"], after["ScheduleExpression"], after["ScheduleExpressionTimezone"]),
                         ("DISABLED", "rate(5 minutes)", "UTC"))
        self.assertNotIn("Description", after, "an update replaces all members")
        self.assertEqual(after["CreationDate"], got["CreationDate"])
        self.assertGreater(after["LastModificationDate"], got["LastModificationDate"])
        self.api.delete_schedule(Name="hourly")
        self.assertEqual(self.refused("ResourceNotFoundException", self.api.get_schedule, Name="hourly"), "Schedule hourly does not exist.")

    def test_all_members_are_kept(self):
        start = datetime.datetime.now(UTC).replace(microsecond=0) + datetime.timedelta(days=1)
        words = {"StartDate": start, "EndDate": start + datetime.timedelta(days=1), "ScheduleExpression": "cron(0 9 ? * MON-FRI *)",
                 "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
                 "Target": target("q.fifo", Input='{"a":"é\\n"}', SqsParameters={"MessageGroupId": "g"},
                                  DeadLetterConfig={"Arn": "arn:aws:sqs:us-east-1:000000000000:dead"},
                                  RetryPolicy={"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0})}
        self.create("all", **words)
        got = self.api.get_schedule(Name="all")
        self.assertEqual({name: got[name] for name in words}, words)

    def test_members_that_this_boto3_does_not_know(self):
        body = {"ScheduleExpression": "at(2199-01-01T00:00:00)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target(),
                "ActionAfterCompletion": "DELETE", "x-catch-up": "all", "x-overlap": "skip", "x-nonexistent": "next"}
        self.assertEqual(self.rest("POST", "/schedules/own", body)[0], 200)
        got = self.rest("GET", "/schedules/own")[1]
        self.assertEqual({name: got[name] for name in body if name != "Target"}, {name: body[name] for name in body if name != "Target"})
        status, text = self.rest("POST", "/schedules/typo", {**body, "x-overlaps": "skip"})
        self.assertEqual(status, 400)
        self.assertIn('Did you mean "x-overlap"?', text["Message"])

    def test_a_creation_is_repeated_by_its_token(self):
        first = self.create("n", ClientToken="one")
        self.assertEqual(self.create("n", ClientToken="one")["ScheduleArn"], first["ScheduleArn"])
        for words in ({"ClientToken": "two"}, {}, {"ClientToken": "one", "Description": "other"}):
            self.assertEqual(self.refused("ConflictException", self.create, "n", **words), "Schedule n already exists.")

    def test_schedules_that_do_not_exist(self):
        for call in (self.api.get_schedule, self.api.delete_schedule):
            self.assertEqual(self.refused("ResourceNotFoundException", call, Name="n"), "Schedule n does not exist.")
            self.assertEqual(self.refused("ResourceNotFoundException", call, Name="n", GroupName="g"), "Schedule group g does not exist.")
        self.refused("ResourceNotFoundException", self.update, "n")
        self.assertEqual(self.refused("ResourceNotFoundException", self.create, "n", GroupName="g"), "Schedule group g does not exist.")

    def test_expressions_that_aws_refuses(self):
        for expression in ("cron(0 1 * * * *)", "cron(7 20 * * NOT *)", "cron(INVALID)", "cron(0 dummy ? * MON-FRI *)", "cron(71 8 1 * ? *)",
                           "cron()", "rate(10 seconds)", "rate(10 years)", "rate()", "rate(10)", "rate(10 minutess)", "rate(foo minutes)",
                           "rate(0 minutes)", "rate(-10 minutes)", "rate( 10 minutes )", " rate(10 minutes)", "at(2021-12-31T23:59:59Z)",
                           "at(2021-12-31)"):
            with self.subTest(expression):
                message = self.refused("ValidationException", self.create, "n", ScheduleExpression=expression)
                self.assertTrue(message.startswith(f"Invalid Schedule Expression {expression}. "), message)
        self.assertEqual(self.api.list_schedules()["Schedules"], [])

    def test_values_that_aws_refuses(self):
        now = datetime.datetime.now(UTC)
        day = datetime.timedelta(days=1)
        cases = [
            ({"ScheduleExpressionTimezone": "Mars/Base"}, "Invalid ScheduleExpressionTimezone Mars/Base"),
            ({"StartDate": now - day}, "The StartDate you specify cannot be earlier than 5 minutes ago."),
            ({"EndDate": now - day}, "The EndDate you specify must be in the future."),
            ({"StartDate": now + 2 * day, "EndDate": now + day}, "The StartDate you specify must come before the EndDate you specify."),
            ({"State": "ON"}, "Value 'ON' at 'state' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED]"),
            ({"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, "Value null at 'flexibleTimeWindow.maximumWindowInMinutes' failed"),
            ({"GroupName": "a b"}, "Value 'a b' at 'groupName' failed to satisfy constraint: Member must satisfy regular expression pattern: "
                                   "^[0-9a-zA-Z-_.]+$"),
            ({"KmsKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k"}, "kmsKeyArn is not supported"),
            ({"Target": {**target(), "RoleArn": "n/a"}}, "Value 'n/a' at 'target.roleArn' failed"),
            ({"Target": {**target(), "Arn": "arn:aws:lambda:us-east-1:000000000000:function:f"}}, "Provided Arn is not in correct format"),
            ({"Target": {**target(), "Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"}}, "A target is a queue, as arn:aws:sqs:"),
            ({"Target": target(account="111111111111")}, "of this server and account"),
            ({"Target": target("q.fifo")}, "MessageGroupId is required"),
            ({"Target": {**target(), "Arn": "arn:aws:sns:us-east-1:000000000000:t.fifo"}}, "is a FIFO topic"),
            ({"Target": target(DeadLetterConfig={"Arn": "arn:aws:sqs:us-east-1:000000000000:d.fifo"})}, "at 'target.deadLetterConfig.arn' failed"),
            ({"Target": target(KinesisParameters={"PartitionKey": "k"})}, "target.kinesisParameters is not supported"),
            ({"Target": target(EcsParameters={"TaskDefinitionArn": "t"})}, "target.ecsParameters is not supported"),
            ({"Target": target(Input="x" * (256 << 10))}, "the limit is 262144. Shorten its Input."),
        ]
        for words, part in cases:
            with self.subTest(part):
                self.assertIn(part, self.refused("ValidationException", self.create, "n", **words))
        self.assertIn("at 'name' failed", self.refused("ValidationException", self.create, "a b"))
        self.create("n")
        self.assertIn("Invalid Schedule", self.refused("ValidationException", self.update, "n", ScheduleExpression="rate(1)"))

    def test_requests_that_are_no_requests_of_the_api(self):
        self.assertEqual(self.rest("DELETE", "/schedules")[0], 404)
        self.assertEqual(self.pawl.page("POST", "/schedules/n", {"Content-Type": "application/json"}, "[]")[0], 400)
        self.assertEqual(self.pawl.page("PUT", "/000000000000/q")[0], 405)
        self.assertEqual(self.pawl.page("DELETE", "/000000000000/q")[0], 405)

    def test_lists_have_pages_prefixes_groups_and_states(self):
        self.api.create_schedule_group(Name="g")
        for group in ("default", "g"):
            for i in range(7):
                self.create(f"n{i}", GroupName=group, State="DISABLED" if i % 2 else "ENABLED")
        listed = self.api.list_schedules()["Schedules"]
        self.assertEqual([(one["GroupName"], one["Name"]) for one in listed], [(g, f"n{i}") for g in ("default", "g") for i in range(7)])
        self.assertEqual(listed[0]["Target"], {"Arn": target()["Arn"]})
        self.assertEqual(listed[0]["Arn"], "arn:aws:scheduler:us-east-1:000000000000:schedule/default/n0")
        self.assertEqual(len(self.api.list_schedules(GroupName="g")["Schedules"]), 7)
        self.assertEqual(len(self.api.list_schedules(State="DISABLED")["Schedules"]), 6)
        self.assertEqual(len(self.api.list_schedules(NamePrefix="n3", State="DISABLED")["Schedules"]), 2)
        pages = list(self.api.get_paginator("list_schedules").paginate(PaginationConfig={"PageSize": 4}))
        self.assertEqual([len(page["Schedules"]) for page in pages], [4, 4, 4, 2])
        self.assertEqual([one for page in pages for one in page["Schedules"]], listed)
        self.refused("ResourceNotFoundException", self.api.list_schedules, GroupName="h")
        self.refused("ValidationException", self.api.list_schedules, MaxResults=101)
        self.refused("ValidationException", self.api.list_schedules, NextToken="no token")

    def test_schedules_survive_a_restart(self):
        place = tempfile.mkdtemp(prefix="scheduler-data-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        with DevPawl(place, "--data", place + "/d", "--shards", "2") as first:
            api = client_of(first, "scheduler")
            api.create_schedule_group(Name="g", Tags=[{"Key": "k", "Value": "v"}])
            self.create("n", api, GroupName="g", Description="kept")
            before = api.get_schedule(Name="n", GroupName="g")
            api.close()
            first.stop()
        with DevPawl(place, "--data", place + "/d") as second:
            api = client_of(second, "scheduler")
            after = api.get_schedule(Name="n", GroupName="g")
            self.assertEqual({**after, "ResponseMetadata": 0}, {**before, "ResponseMetadata": 0})
            arn = api.get_schedule_group(Name="g")["Arn"]
            self.assertEqual(api.list_tags_for_resource(ResourceArn=arn)["Tags"], [{"Key": "k", "Value": "v"}])
            api.close()


class Groups(Scheduler):
    def test_a_group_is_created_described_listed_and_deleted(self):
        arn = self.api.create_schedule_group(Name="sg")["ScheduleGroupArn"]
        self.assertEqual(arn, "arn:aws:scheduler:us-east-1:000000000000:schedule-group/sg")
        got = self.api.get_schedule_group(Name="sg")
        self.assertEqual((got["Arn"], got["Name"], got["State"]), (arn, "sg", "ACTIVE"))
        self.assertEqual(got["CreationDate"], got["LastModificationDate"])
        self.assertEqual([one["Name"] for one in self.api.list_schedule_groups()["ScheduleGroups"]], ["default", "sg"])
        self.assertEqual([one["Name"] for one in self.api.list_schedule_groups(NamePrefix="s")["ScheduleGroups"]], ["sg"])
        self.assertEqual(self.refused("ConflictException", self.api.create_schedule_group, Name="sg"), "Schedule group sg already exists.")
        self.api.delete_schedule_group(Name="sg")
        for call in (self.api.get_schedule_group, self.api.delete_schedule_group):
            self.assertEqual(self.refused("ResourceNotFoundException", call, Name="sg"), "Schedule group sg does not exist.")

    def test_a_group_is_created_once_by_its_token(self):
        for _ in range(2):
            self.api.create_schedule_group(Name="sg", ClientToken="t")
        self.refused("ConflictException", self.api.create_schedule_group, Name="sg", ClientToken="u")

    def test_the_default_group_is_always_there(self):
        self.assertEqual(self.api.get_schedule_group(Name="default")["State"], "ACTIVE")
        self.refused("ValidationException", self.api.delete_schedule_group, Name="default")
        self.refused("ConflictException", self.api.create_schedule_group, Name="default")

    def test_schedules_are_deleted_with_their_group(self):
        self.api.create_schedule_group(Name="sg")
        for i in range(20):
            self.create(f"n{i}", GroupName="sg")
        self.create("kept")
        self.api.delete_schedule_group(Name="sg")
        self.assertEqual([one["Name"] for one in self.api.list_schedules()["Schedules"]], ["kept"])

    def test_groups_have_tags(self):
        arn = self.api.create_schedule_group(Name="sg", Tags=[{"Key": "a", "Value": "1"}])["ScheduleGroupArn"]
        self.api.tag_resource(ResourceArn=arn, Tags=[{"Key": "b c", "Value": "2 +"}, {"Key": "d", "Value": "3"}, {"Key": "a", "Value": "4"}])
        self.assertEqual(self.api.list_tags_for_resource(ResourceArn=arn)["Tags"],
                         [{"Key": "a", "Value": "4"}, {"Key": "b c", "Value": "2 +"}, {"Key": "d", "Value": "3"}])
        self.api.untag_resource(ResourceArn=arn, TagKeys=["b c", "a"])
        self.assertEqual(self.api.list_tags_for_resource(ResourceArn=arn)["Tags"], [{"Key": "d", "Value": "3"}])
        self.api.untag_resource(ResourceArn=arn, TagKeys=["d"])
        self.assertEqual(self.api.list_tags_for_resource(ResourceArn=arn)["Tags"], [])
        many = [{"Key": f"k{i}", "Value": "v"} for i in range(51)]
        self.assertIn("50 tags at most", self.refused("ValidationException", self.api.tag_resource, ResourceArn=arn, Tags=many))
        self.refused("ValidationException", self.api.tag_resource, ResourceArn=arn, Tags=[{"Key": "aws:k", "Value": "v"}])
        self.refused("ResourceNotFoundException", self.api.list_tags_for_resource, ResourceArn=arn + "x")
        self.refused("ValidationException", self.api.list_tags_for_resource, ResourceArn="arn:aws:sqs:us-east-1:000000000000:q")

    def test_groups_have_pages(self):
        for i in range(5):
            self.api.create_schedule_group(Name=f"g{i}")
            self.create("n", GroupName=f"g{i}")
        pages = list(self.api.get_paginator("list_schedule_groups").paginate(PaginationConfig={"PageSize": 2}))
        self.assertEqual([[one["Name"] for one in page["ScheduleGroups"]] for page in pages], [["default", "g0"], ["g1", "g2"], ["g3", "g4"]])


class Accounts(Scheduler):
    words = ("--auth", "sigv4", "--keys", "{keys}")

    def test_a_signed_request_acts_for_its_account(self):
        one = self.client("scheduler", "AKIDONE", "the-secret-of-one-which-is-long-enough")
        two = self.client("scheduler", "AKIDTWO", "the-secret-of-two-which-is-long-enough")
        made = self.create("n", one, Target=target(account="111122223333"))
        self.assertEqual(made["ScheduleArn"], "arn:aws:scheduler:us-east-1:111122223333:schedule/default/n")
        self.refused("ResourceNotFoundException", two.get_schedule, Name="n")
        self.assertEqual(two.list_schedules()["Schedules"], [])
        self.refused("ValidationException", self.create, "n", two, Target=target(account="111122223333"))
        arn = one.create_schedule_group(Name="g.1_-")["ScheduleGroupArn"]
        one.tag_resource(ResourceArn=arn, Tags=[{"Key": "b c", "Value": "2"}, {"Key": "a", "Value": "1"}])
        self.refused("ResourceNotFoundException", two.list_tags_for_resource, ResourceArn=arn)
        one.untag_resource(ResourceArn=arn, TagKeys=["b c", "a"])
        self.assertEqual(one.list_tags_for_resource(ResourceArn=arn)["Tags"], [])
        one.update_schedule(Name="n", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target(account="111122223333"))
        one.delete_schedule(Name="n")
        one.delete_schedule_group(Name="g.1_-")

    def test_a_request_with_a_wrong_signature_is_refused(self):
        wrong = self.client("scheduler", "AKIDONE", "not-the-secret")
        self.refused("InvalidSignatureException", wrong.list_schedules)
        self.refused("InvalidSignatureException", wrong.delete_schedule, Name="n")
        status, text = self.rest("GET", "/schedules")
        self.assertEqual(status, 403)
        self.assertIn("Message", text)


class Quota(Scheduler):
    words = ("--max-queues-per-account", "2")

    def test_schedules_and_groups_count_towards_the_limit_of_an_account(self):
        self.api.create_schedule_group(Name="g")
        self.create("n")
        for call in (lambda: self.create("m"), lambda: self.api.create_schedule_group(Name="h")):
            self.assertIn("Limits: ", self.refused("ServiceQuotaExceededException", call))
        self.api.delete_schedule(Name="n")
        self.create("m")


class Strict(Scheduler):
    words = ("--strict-sqs",)

    def test_strict_sqs_has_no_scheduler(self):
        for method in ("PUT", "DELETE"):
            self.assertEqual(self.pawl.page(method, "/schedules/n")[0], 405)
        self.assertNotIn("Schedules", self.pawl.page("GET", "/schedules")[1])
        self.assertEqual(self.pawl.page("POST", "/schedules/n", {"Content-Type": "application/json"}, "{}")[0], 400)


class OtherApis(Scheduler):
    def test_requests_of_sqs_and_sns_are_served_on_every_path(self):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.client("sqs").create_queue(QueueName="n")
        for path in ("/schedules", "/schedules/n", "/tags/x"):
            for asked in ("Action=GetQueueUrl&QueueName=n", "QueueName=n&Action=GetQueueUrl"):
                self.assertIn("GetQueueUrlResponse", self.pawl.page("POST", path, form, asked)[1])
                self.assertIn("GetQueueUrlResponse", self.pawl.page("GET", path + "?" + asked)[1])
            in_json = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}
            self.assertEqual(self.pawl.page("POST", path, in_json, "{}")[0], 200)
            self.assertIn("ListTopicsResponse", self.pawl.page("POST", path, form, "Action=ListTopics&Version=2010-03-31")[1])


class Documents(Scheduler):
    def test_the_examples_of_the_page_work(self):
        page = (ROOT / "tools" / "SCHEDULING.md").read_text().replace("http://127.0.0.1:9324", self.pawl.url)
        names = {}
        for example in re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M):
            exec(example, names)  # pylint: disable=exec-used
        names["scheduler"].close()
        self.assertEqual([one["Name"] for one in self.api.list_schedules()["Schedules"]], ["report"])
        command = re.search(r"^```bash\n(.*?)^```$", page, re.S | re.M)[1]
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30, check=False)
        self.assertIn("schedule/default/backup", done.stdout, done.stderr)
        self.assertEqual(self.rest("GET", "/schedules/backup")[1]["x-overlap"], "skip")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
