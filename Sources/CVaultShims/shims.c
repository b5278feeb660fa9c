#include "CVaultShims.h"

_Thread_local int32_t vault_slot_counter;

void vault_wipe(void *bytes, size_t count) {
  volatile unsigned char *cursor = bytes;
  while (count-- > 0) *cursor++ = 0;
}
