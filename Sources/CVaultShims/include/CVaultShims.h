// What Swift cannot say: a thread-local counter, and wiping memory that the optimiser may not skip.
#ifndef C_VAULT_SHIMS_H
#define C_VAULT_SHIMS_H

#include <stddef.h>
#include <stdint.h>

// Initial-exec: one load, where the default model calls a function for each slot of each fetched object. In the
// header for the same reason.
extern _Thread_local int32_t vault_slot_counter __attribute__((tls_model("initial-exec")));

/// The next number of this thread's slot counter, counted from 0.
static inline int32_t vault_next_slot(void) { return vault_slot_counter++; }

/// Sets this thread's slot counter back to 0.
static inline void vault_reset_slots(void) { vault_slot_counter = 0; }

/// Sets this thread's slot counter to 65536, which tells property wrappers to record their declarations.
static inline void vault_start_recording(void) { vault_slot_counter = 0x10000; }

/// Overwrites `count` bytes with zeros, also when nothing reads them afterwards.
void vault_wipe(void *bytes, size_t count);

#endif
