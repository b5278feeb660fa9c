// What Swift cannot say: a thread-local counter, and wiping memory that the optimiser may not skip.
#ifndef C_VAULT_SHIMS_H
#define C_VAULT_SHIMS_H

#include <stddef.h>
#include <stdint.h>

/// The next number of this thread's slot counter, counted from 0.
int32_t vault_next_slot(void);

/// Sets this thread's slot counter back to 0.
void vault_reset_slots(void);

/// Sets this thread's slot counter to 65536, which tells property wrappers to record their declarations.
void vault_start_recording(void);

/// Overwrites `count` bytes with zeros, also when nothing reads them afterwards.
void vault_wipe(void *bytes, size_t count);

#endif
