// SPDX-License-Identifier: Apache-2.0
// Recognizes a request that a web page may have made a browser send without asking the server: an
// image, a link, a form, a redirect. Such a request has the method GET and no header of the page's
// choice, but the browser marks it.
//
// Errors: none.
// Owner:  any thread; no state.
// Source: W3C Fetch Metadata, "Sec-Fetch-Site"; Fetch Standard, "Origin header"; RFC 9110, 10.1.3.
#pragma once

#include <string_view>

#include "proto/http/parser.h"

namespace pawl {

// The header that marks the request; empty: no page sent it, or one that the operator allows.
//
//   Sec-Fetch-Site   every value but none (typed by the user) and same-origin; current browsers
//                    send it to HTTPS and to this machine
//   Origin           any
//   Referer          a page of another host or port
//   User-Agent       of a browser, without Sec-Fetch-Site: an old one, or over HTTP to another
//                    machine
std::string_view page_mark(const HttpRequest& request);

// True: a browser sent the request, for a page or for its user. It has Origin, any Sec-Fetch-*
// header, or the User-Agent of a browser; programs have none of these marks.
bool is_of_browser(const HttpRequest& request);

}  // namespace pawl
