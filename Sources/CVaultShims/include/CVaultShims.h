// What Swift cannot express: thread-local variables that are read with one load, wiping memory in a way
// that no compiler omits, atomic loads from shared memory, the arguments of main, a call before main, and
// system calls that the C library's module does not export. Also a check whether threads can be started.
#ifndef C_VAULT_SHIMS_H
#define C_VAULT_SHIMS_H

#include <stddef.h>
#include <stdint.h>

// The slot of a property is its number among the properties of its object. Property wrappers get their
// slots from this counter while their object is created. With the initial-exec model, an access is one
// load. With the default model it would call a function, for each slot of each fetched object. The
// functions below are in the header for the same reason.
extern _Thread_local int32_t vault_slot_counter __attribute__((tls_model("initial-exec")));

/// Returns the value of this thread's slot counter, and increments the counter.
static inline int32_t vault_next_slot(void) { return vault_slot_counter++; }

/// Resets this thread's slot counter to 0, and returns its former value.
static inline int32_t vault_reset_slots(void) {
  int32_t counter = vault_slot_counter;
  vault_slot_counter = 0;
  return counter;
}

/// Sets this thread's slot counter to 65536. From there on, property wrappers record their declarations.
static inline void vault_start_recording(void) { vault_slot_counter = 0x10000; }

// The slots of the properties of the object that is being created, in the order in which its wrappers are
// initialized. The first element is the number of slots; the slots follow. The array is only read while
// the slot counter is at 131072 or above.
extern _Thread_local const uint16_t *vault_slot_places __attribute__((tls_model("initial-exec")));

/// Sets this thread's slot counter to 131072. From there on, property wrappers look up their slots in
/// `places`.
static inline void vault_start_placing(const uint16_t *places) {
  vault_slot_places = places;
  vault_slot_counter = 0x20000;
}

/// The progress of this thread in creating an object.
typedef struct {
  int32_t counter;
  const uint16_t *places;
} vault_making;

/// Begins the creation of an object by the library. Its wrappers count from -65536, of which they keep the
/// lower 16 bits; those of an object that the program creates count from 0. The thread may be creating
/// another object, one of whose properties creates this one. Returns the progress of that creation, for
/// `vault_end_object`.
static inline vault_making vault_begin_object(void) {
  vault_making outer = {vault_slot_counter, vault_slot_places};
  vault_slot_counter = -0x10000;
  return outer;
}

/// Continues the creation that `vault_begin_object` interrupted.
static inline void vault_end_object(vault_making outer) {
  vault_slot_counter = outer.counter;
  vault_slot_places = outer.places;
}

/// Returns the slot of a wrapper whose number is 131072 or above. If the places have no slot for the
/// wrapper, its slot is the number less 131072.
static inline uint16_t vault_placed_slot(int32_t number) {
  uint32_t place = (uint32_t)number - 0x20000;
  return place < vault_slot_places[0] ? vault_slot_places[1 + place] : (uint16_t)place;
}

/// Overwrites `count` bytes with zeros, even if nothing reads them afterwards.
void vault_wipe(void *bytes, size_t count);

/// Returns a word of 32 bits from memory that other processes write to.
static inline uint32_t vault_load_shared(const void *memory, int word) {
  return __atomic_load_n((const uint32_t *)memory + word, __ATOMIC_ACQUIRE);
}

/// Renames a file in one step, if nothing has the new name. Returns 0, or -1 with `errno`: EEXIST if
/// something has the new name; EINVAL, ENOSYS or ENOTSUP if the system or the file system does not
/// support such a rename.
int vault_rename_exclusive(const char *from, const char *to);

/// Returns the number of processors that this process may use, at least 1. If the process is bound to
/// some processors (taskset, a container's cpuset), only these are counted.
int vault_usable_processors(void);

/// Returns 0 if this process can have `count` more threads at once; otherwise the system's error for the
/// first thread that could not be started. Tries at most 8. The threads that were started have ended when
/// this returns.
int vault_try_threads(int count);

/// Returns the number of command-line arguments, including the program's name; 0 if the C library does
/// not provide them.
int vault_argument_count(void);

/// Returns the command-line argument at an index, counted from 0; NULL if there is none. The text is
/// valid until the process ends.
const char *vault_argument(int index);

#endif
