// What Swift cannot say: a thread-local counter, wiping memory that the optimiser may not skip, and system calls that
// the C library's module does not show.
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

// Where the object that is being made has its properties, by the order in which its wrappers count: the number of
// them, then the slot of each. Read while the slot counter is at 131072 or above.
extern _Thread_local const uint16_t *vault_slot_places __attribute__((tls_model("initial-exec")));

/// Sets this thread's slot counter to 131072, which tells property wrappers to ask for their slots in `places`.
static inline void vault_start_placing(const uint16_t *places) {
  vault_slot_places = places;
  vault_slot_counter = 0x20000;
}

/// How far this thread is with an object that it is making.
typedef struct {
  int32_t counter;
  const uint16_t *places;
} vault_making;

/// Begins an object whose wrappers count from 0. Another one may be under way, one of whose properties asks for this one; what is
/// returned is how far that is, for `vault_end_object`.
static inline vault_making vault_begin_object(void) {
  vault_making outer = {vault_slot_counter, vault_slot_places};
  vault_slot_counter = 0;
  return outer;
}

/// Goes on with the object that was under way before.
static inline void vault_end_object(vault_making outer) {
  vault_slot_counter = outer.counter;
  vault_slot_places = outer.places;
}

/// The slot of a wrapper that has such a number. One that no class has recorded keeps its number.
static inline uint16_t vault_placed_slot(int32_t number) {
  uint32_t place = (uint32_t)number - 0x20000;
  return place < vault_slot_places[0] ? vault_slot_places[1 + place] : (uint16_t)place;
}

/// Overwrites `count` bytes with zeros, also when nothing reads them afterwards.
void vault_wipe(void *bytes, size_t count);

/// A word of memory that other processes write to.
static inline uint32_t vault_load_shared(const void *memory, int word) {
  return __atomic_load_n((const uint32_t *)memory + word, __ATOMIC_ACQUIRE);
}

/// Gives a file another name, in one step, if nothing has that name. Returns 0, or -1 with `errno`: EEXIST when
/// something has it, EINVAL or ENOSYS where the system or the file system cannot do it.
int vault_rename_exclusive(const char *from, const char *to);

/// How many processors this process may use, 1 at least. A process that is bound to some (taskset, a container's cpuset) has no
/// use of the others that the machine has.
int vault_usable_processors(void);

/// Whether this process can have so many more threads at once, up to 8: 0, or the error of the one that could not be started. They
/// are started, and end before this returns.
int vault_try_threads(int count);

/// How many words the program was started with, its own name first. 0 where the C library does not say.
int vault_argument_count(void);

/// One of these words, counted from 0; NULL beyond the last one. Stays as long as the process.
const char *vault_argument(int index);

#endif
