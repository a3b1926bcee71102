// SPDX-License-Identifier: Apache-2.0
// The manual pages, made of the verbs that the command line has: pawl(1) with the list of verbs,
// and a page for each verb, as pawl-queue(1), with its own verbs and their options.
//
// Source: groff_man(7); man-pages(7).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/verb_row.h"

namespace pawl {

struct ManualPage {
  std::string name;  // "pawl-queue"
  std::string text;
};

// `verbs`: each behind the one that contains it; the first is the program, and so is its page.
std::vector<ManualPage> manual_pages(std::span<const VerbRow> verbs, const std::string& version);

}  // namespace pawl
