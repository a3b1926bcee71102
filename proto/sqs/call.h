// SPDX-License-Identifier: Apache-2.0
// A call of SQS, from the name of its action to the result, over an SqsState.
//
// The caller is known already: account, settings and directory of the state are set.
//
// Errors: every error becomes the state's refusal.
// Owner:  the state. begin_json() and begin_query() copy all text that is needed later.
// Source: SQS API Reference 2012-11-05; AWS JSON 1.0 and AWS Query protocols.
#pragma once

#include <string_view>

#include "proto/aws/call_types.h"
#include "proto/http/parser.h"
#include "proto/sqs/state.h"
#include "proto/text/form.h"

namespace pawl::sqs {

// The action of an X-Amz-Target header; none if it is not one of SQS.
SqsAction target_action(std::string_view target);

// Any web page can make a browser send a GET, with an <img>. Without keys, a GET that a page may
// have sent (proto/http/page_marks.h) may therefore only read. A page cannot add the header
// Authorization. False: refused.
[[nodiscard]] bool check_method(SqsState& s, const HttpRequest& http, std::string_view action);

// Parses and validates a call. `target` is the X-Amz-Target header, "" without one; `action` is the
// parameter Action of the form.
CallStep begin_json(SqsState& s, const HttpRequest& http, std::string_view target);
CallStep begin_query(SqsState& s, const HttpRequest& http, const Form& form,
                     std::string_view action);

// Continues after the routed request has returned.
CallStep resume(SqsState& s);

}  // namespace pawl::sqs
