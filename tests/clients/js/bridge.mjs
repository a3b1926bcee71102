// SPDX-License-Identifier: Apache-2.0
// The bridge of client.py: one JSON request per line on stdin, answers in any order. `call` performs one
// with the SDK and resolves to its result; `code` names its errors.
import { createInterface } from "node:readline";

const converted = (value, binary) => {
  if (Array.isArray(value)) return value.map((inner) => converted(inner, binary));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([k, v]) => [k, k === "BinaryValue" ? binary(v) : converted(v, binary)]));
};

export async function serve(call, code) {
  const answer = async ({ id, op, in: members }) => {
    let reply;
    try {
      const { $metadata, ...out } = await call(op, converted(members, (text) => Buffer.from(text, "base64")));
      reply = { id, out: converted(out, (data) => Buffer.from(data).toString("base64")) };
    } catch (error) {
      reply = { id, error: { code: code(error), message: error.message } };
    }
    process.stdout.write(JSON.stringify(reply) + "\n");
  };
  for await (const line of createInterface({ input: process.stdin })) answer(JSON.parse(line));
}
