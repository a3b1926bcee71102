// SPDX-License-Identifier: Apache-2.0
// Calls of SQS that several verbs make.
//
// Errors: to stderr; `code` is then the exit code of the verb.
// Owner:  one verb.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/sqs_client/sqs_client.h"
#include "proto/text/json_dom.h"

namespace pawl {

// An object with one text.
std::string body_with(std::string_view name, std::string_view value);

// The response to GetQueueAttributes, with all attributes; without a value the error was printed.
std::optional<std::string> attributes_of(sqs_client::SqsClient& client, const std::string& url,
                                         std::string_view queue, int& code);

// Calls act(URL) for each queue whose name begins with `prefix`. Returns the exit code.
int for_each_url(sqs_client::SqsClient& client, std::string_view prefix,
                 const std::function<void(const std::string& url)>& act);
// Calls act(name, response to GetQueueAttributes) for each of them that is not deleted meanwhile.
int for_each_queue(sqs_client::SqsClient& client, std::string_view prefix,
                   const std::function<void(const std::string&, const JsonValue&)>& act);

std::string name_of_url(std::string_view url);

}  // namespace pawl
