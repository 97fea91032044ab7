#ifndef GODWIT_CVERSION_H
#define GODWIT_CVERSION_H

/// Returns the commit from which the program was built, as the script `scripts/commit` found it before the build;
/// an empty text without that script or without git.
const char *godwit_commit(void);

#endif
