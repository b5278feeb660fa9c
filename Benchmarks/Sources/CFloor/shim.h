// The key functions are declared only when the codec is announced before the header.
// The folder of the header comes from pkg-config, so that either engine can be selected.
#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <malloc.h>
#include <sqlite3.h>
