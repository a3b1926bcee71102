# SPDX-License-Identifier: Apache-2.0
# Makes `cmake --install` skip a component that was not built, and say how to build it. Asked for by
# name, such a component is an error. The install rules after it in the same folder depend on it.
function(pawl_built_component component file targets)
  install(CODE "
    if(NOT EXISTS \"${file}\")
      set(hint \"${component} was not built, so it is not installed: cmake --build ${CMAKE_BINARY_DIR} --target ${targets}\")
      if(CMAKE_INSTALL_COMPONENT STREQUAL \"${component}\")
        message(FATAL_ERROR \"\${hint}\")
      elseif(NOT CMAKE_INSTALL_COMPONENT)
        message(STATUS \"\${hint}\")
        return()
      endif()
    endif()" ALL_COMPONENTS)
endfunction()
