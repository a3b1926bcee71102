// SPDX-License-Identifier: Apache-2.0
// The table of the admin port's pages: a new page is one row here and its function.
//
// Errors: a path without a row: 404, which names the paths; a method that the row lacks: 405 with
//         Allow. HEAD is answered as GET, without the body.
// Owner:  any shard's thread; constant.
#pragma once

#include <span>
#include <string_view>

#include "net/admin/admin_page.h"

namespace pawl {

std::span<const AdminPage> admin_pages();
// Null: there is no such page.
const AdminPage* find_admin_page(std::string_view path);

// The answers of 404 and 405.
AdminAnswer no_such_page();
AdminAnswer no_such_method(const AdminPage& page);

}  // namespace pawl
