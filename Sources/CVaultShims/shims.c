#define _GNU_SOURCE
#include "CVaultShims.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
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
  // Fails if the machine has more processors than the set can contain.
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 1 ? (int)count : 1;
}

static void *wait_for_gate(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

int vault_try_threads(int count) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[8];
  int started = 0, code = 0;
  // No thread ends before all have started.
  pthread_mutex_lock(&gate);
  while (code == 0 && started < count && started < 8) {
    code = pthread_create(&threads[started], NULL, wait_for_gate, &gate);
    if (code == 0) started++;
  }
  pthread_mutex_unlock(&gate);
  while (started > 0) pthread_join(threads[--started], NULL);
  pthread_mutex_destroy(&gate);
  return code;
}

// libcrypto frees its tables when the process exits. A thread that decrypts a page at that moment would
// end the process with a signal instead of its exit status. The first call of libcrypto decides whether
// the tables are freed. So this function makes that call before main, and before any other call of
// libcrypto by this package. The kernel reclaims the memory. Keys are wiped by their owners, not at exit.
//
// The function is in this file because a linker takes from a static library only the object files from
// which something is called, and every program calls vault_wipe, which is above.
__attribute__((constructor)) static void keep_libcrypto_until_the_end(void) {
#ifdef OPENSSL_INIT_NO_ATEXIT
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
#endif
}

// The command-line arguments, as `main` receives them. Swift's runtime reads them from /proc, which a
// chroot or a rescue system may lack. Then it terminates the process, or uses other data as the
// arguments. The C libraries below pass the arguments to constructors, too.
static int argument_count;
static char **arguments;

#if defined(__GLIBC__) || defined(__APPLE__)
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
  argument_count = count;
  arguments = words;
}
#endif

int vault_argument_count(void) { return argument_count; }

const char *vault_argument(int index) {
  return index >= 0 && index < argument_count ? arguments[index] : NULL;
}
