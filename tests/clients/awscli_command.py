# SPDX-License-Identifier: Apache-2.0
"""Converts an SQS action to arguments of the AWS command line, and its output to a bridge response."""

import json


def arguments_of(endpoint, op, members):
    verb = "".join("-" + c.lower() if c.isupper() else c for c in op).lstrip("-")
    return ["--endpoint-url", endpoint, "--output", "json", "sqs", verb, "--no-paginate",
            "--cli-input-json", json.dumps(members)]


def answer_of(code, out, err):
    if not code:
        return {"out": json.loads(out) if out.strip() else {}}
    # The line is "An error occurred (CODE) when calling the NAME operation: MESSAGE".
    name, _, message = err.partition("(")[2].partition(")")
    return {"error": {"code": name or "NoCode", "message": message or err}}
