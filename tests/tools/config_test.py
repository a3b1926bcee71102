#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The configuration of `pawl serve`, as tools/CONFIGURATION.md describes it."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from dev_test import PAWL, DevPawl

# The variables of Kubernetes for a service of a name, with the ports 9324 and 9325.
def of_kubernetes(service):
    name = service.upper().replace("-", "_")
    found = {f"{name}_SERVICE_HOST": "10.0.0.11", f"{name}_SERVICE_PORT": "9324", f"{name}_SERVICE_PORT_HTTP": "9324",
             f"{name}_SERVICE_PORT_ADMIN": "9325", f"{name}_PORT": "tcp://10.0.0.11:9324"}
    for port in ("9324", "9325"):
        of_port = f"{name}_PORT_{port}_TCP"
        found |= {of_port: f"tcp://10.0.0.11:{port}", of_port + "_PROTO": "tcp", of_port + "_PORT": port, of_port + "_ADDR": "10.0.0.11"}
    return found


class Config(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="config-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def run_pawl(self, *words, code=0, **environment):
        done = subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, cwd=self.place,
                              env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def serve_with(self, environment):
        """The lines on stderr of a server that starts."""
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            with DevPawl(self.place) as pawl:
                self.assertEqual(pawl.stop(), 0)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        return pawl.errors

    def test_variables_of_kubernetes_never_refuse_a_start(self):
        variables = {}
        for service in ("pawl", "pawl-server", "pawl-listen", "pawl-sqs", "pawl-server-http"):
            variables |= of_kubernetes(service)
        self.assertNotIn("environment variable", self.serve_with(variables))

    def test_a_mistyped_variable_of_a_section_is_refused_with_the_nearest_name(self):
        for name, meant in (("PAWL_SERVER_SHARD", "PAWL_SERVER_SHARDS"), ("PAWL_LISTEN_HTPP", "PAWL_LISTEN_HTTP"),
                            ("PAWL_SQS_STRICT", "PAWL_SQS_STRICT_SQS"), ("PAWL_SERVER_PORT", ""), ("PAWL_LISTEN_PORT_TCP", ""),
                            ("PAWL_LISTEN_PORT_X_TCP", ""), ("PAWL_LISTEN_PORT_80_TCP_NAME", ""), ("PAWL_SQS_", "")):
            errors = self.run_pawl("serve", "--dev", code=2, **{name: "9324"})
            self.assertTrue(errors.startswith(f"error: the environment variable {name} begins like"), errors)
            self.assertIn(f'Did you mean "{meant}"?' if meant else "pawl serve --help", errors)

    def test_other_variables_are_ignored_or_reported(self):
        errors = self.serve_with({"PAWL_SERVR_SHARDS": "2", "PAWL_ENDPOINT": "x", "PAWLS_SERVER_X": "x"})
        self.assertIn('PAWL_SERVR_SHARDS is not a setting of pawl serve and has no effect. Did you mean "PAWL_SERVER_SHARDS"?', errors)
        self.assertEqual(errors.count("environment variable"), 1, errors)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
