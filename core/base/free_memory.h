// SPDX-License-Identifier: Apache-2.0
// Freeing the memory of a container that lives on.
//
// Owner: values.
#pragma once

namespace pawl {

// Assigning an empty string or vector keeps the buffer in libstdc++; swapping it away frees it.
template <typename Container>
void free_memory(Container& container) {
  Container().swap(container);
}

}  // namespace pawl
