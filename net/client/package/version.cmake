# SPDX-License-Identifier: Apache-2.0
# The version of pawl: of the program, of the client library and of the Debian packages. The SONAME
# of the library has its first number: net/client/INSTALL.md has the rule.
set(pawl_version 0.1.0)
