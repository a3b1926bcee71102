# SPDX-License-Identifier: Apache-2.0
# Turns the comments of a public header into the form that doxygen reads. The header comment, which
# has drawings, becomes preformatted text; every other comment documents the declaration below it
# or, at the end of a line, before it.
1d
2,/^#pragma once/ {
  2 i /** @file\n@verbatim
  /^#pragma once/ i @endverbatim */
  s,^// ?,,
  b
}
/^ *\/\/ (---|NOLINT)/d
/^ *\/\/( |$)/ {
  s,([<>@\\#]),\\\1,g
  s,//,///,
  b
}
s,([;{}\,]) +// (.*)$,\1  ///< \2,
