#include "CVersion.h"

#if __has_include("commit.h")
#include "commit.h"
#endif

#define TEXT_OF(word) #word
#define TEXT(macro) TEXT_OF(macro)

const char *godwit_commit(void) {
#ifdef GODWIT_COMMIT
    return TEXT(GODWIT_COMMIT);
#else
    return "";
#endif
}
