#ifndef GODWIT_CVERSION_H
#define GODWIT_CVERSION_H

/// Returns the commit from which the program was built, as the environment variable GODWIT_COMMIT gave it to the build;
/// an empty text without that variable.
const char *godwit_commit(void);

#endif
