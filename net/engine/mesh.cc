// SPDX-License-Identifier: Apache-2.0
#include "net/engine/mesh.h"

namespace pawl {

template class BasicMesh<StdMemory, 256>;
template class BasicMeshPort<StdMemory, 256>;

}  // namespace pawl
