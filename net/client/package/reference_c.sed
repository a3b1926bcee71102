# SPDX-License-Identifier: Apache-2.0
# The same as reference.sed for the header in C.
1 s,.*,/** @file,
/^ *[/][*] NOLINT/d
s,([;}]) +/[*] ,\1 /**< ,
s,^( *)/[*] ,\1/** ,
