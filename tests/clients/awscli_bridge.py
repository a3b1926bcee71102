# SPDX-License-Identifier: Apache-2.0
"""Debian's AWS command line behind the bridge of client.py, with its modules loaded once.

Each request runs the command's main function in a fork of this process, which saves the half second
of loading. Its output is the same as in a shell.
"""

import fcntl
import json
import os
import signal
import sys
import tempfile

import awscli.clidriver

from awscli_command import answer_of, arguments_of


def run(words):
    """(exit code, standard output, standard error) of `aws words...`, run last in this process."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["aws", *words]
        try:
            code = awscli.clidriver.main()
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def serve():
    answers = os.dup(1)
    lock = tempfile.NamedTemporaryFile()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    awscli.clidriver.create_clidriver()            # loads the modules that every command needs
    for line in sys.stdin:
        if os.fork():
            continue
        request = json.loads(line)
        reply = {"id": request["id"]} | answer_of(*run(arguments_of(os.environ["PAWL_ENDPOINT"], request["op"], request["in"])))
        with open(lock.name) as own:
            fcntl.flock(own, fcntl.LOCK_EX)  # a line may exceed the atomic write of a pipe
            with open(answers, "w") as file:
                file.write(json.dumps(reply) + "\n")
        os._exit(0)


if __name__ == "__main__":
    serve()
