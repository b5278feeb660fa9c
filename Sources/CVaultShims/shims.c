#define _GNU_SOURCE
#include "CVaultShims.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

_Thread_local int32_t vault_slot_counter;
_Thread_local const uint16_t *vault_slot_places;

void vault_wipe(void *bytes, size_t count) {
  volatile unsigned char *cursor = bytes;
  while (count-- > 0) *cursor++ = 0;
}

int vault_rename_exclusive(const char *from, const char *to) {
#if defined(__APPLE__)
  return renamex_np(from, to, RENAME_EXCL);
#elif defined(RENAME_NOREPLACE)
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
#else
  (void)from, (void)to;
  errno = ENOSYS;
  return -1;
#endif
}

int vault_usable_processors(void) {
#ifdef CPU_COUNT
  cpu_set_t usable;
  // Fails where the machine has more than the set has room for.
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 1 ? (int)count : 1;
}

// libcrypto takes its tables down when the process exits, and a thread that decrypts a page then would end the process
// with a signal instead of its status. Its first call decides: so this comes before main, and before any call of ours.
// The kernel takes the memory back; keys are wiped by who holds them, not there. In this file, as a linker takes from a
// static library only the objects of which something is called, and everybody calls vault_wipe.
__attribute__((constructor)) static void keep_libcrypto_until_the_end(void) {
#ifdef OPENSSL_INIT_NO_ATEXIT
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
#endif
}
