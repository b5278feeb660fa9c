#define _GNU_SOURCE
#include "CVaultShims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

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
