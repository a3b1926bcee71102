// SPDX-License-Identifier: Apache-2.0
// The choices that a client leaves to the server by the headers Accept and Accept-Encoding.
//
// Limits: accepts_json() ignores weights: the first type counts.
// Errors: none; an entry that cannot be read counts as absent.
// Owner:  none; functions of the text.
// Source: RFC 9110, sections 12.4.2, 12.5.1 and 12.5.3.
#pragma once

#include <string_view>

namespace pawl {

// True if Accept names JSON before any type of XML.
bool accepts_json(std::string_view accept);

// True if Accept names OpenMetrics 1.0, by that version or without one, with a weight above 0 and
// not below that of text/plain. Wildcards are ignored.
bool accepts_open_metrics(std::string_view accept);

// True if Accept-Encoding names gzip with a weight above 0 and not below that of identity.
// Wildcards are ignored.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace pawl
