// SPDX-License-Identifier: Apache-2.0
import * as sdk from "@aws-sdk/client-sqs";
import { serve } from "./bridge.mjs";

const sqs = new sdk.SQSClient({ endpoint: process.env.PAWL_ENDPOINT, maxAttempts: 1 });
await serve((op, members) => sqs.send(new sdk[op + "Command"](members)), (error) => error.name);
sqs.destroy();
