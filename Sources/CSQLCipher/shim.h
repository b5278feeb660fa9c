// The header declares the key functions only if SQLITE_HAS_CODEC is defined before it is included.
// The folder of the header comes from pkg-config, so that either engine can be selected.
#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <sqlite3.h>

// Variadic calls, which Swift cannot make.
static inline int vault_config_without_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
static inline int vault_config_log(void (*log)(void *, int, const char *)) {
  return sqlite3_config(SQLITE_CONFIG_LOG, log, (void *)0);
}
