// SPDX-License-Identifier: Apache-2.0
#include "net/engine/mesh.h"

namespace pawl {

template class BasicMesh<StdMemory, mesh_slots>;
template class BasicMeshPort<StdMemory, mesh_slots>;

}  // namespace pawl
