# Headers as Doxygen reads them. The comment that opens a header is that of the file.
s,^#pragma once$,/// @file,
# Defaulted comparisons need no documentation.
/^ *friend .*operator.*= default;$/s/.*//
