#include "CVaultShims.h"

// Initial-exec: one load, where the default model calls a function for each slot of each fetched object.
static _Thread_local int32_t next_slot __attribute__((tls_model("initial-exec")));

int32_t vault_next_slot(void) { return next_slot++; }

void vault_reset_slots(void) { next_slot = 0; }

void vault_wipe(void *bytes, size_t count) {
  volatile unsigned char *cursor = bytes;
  while (count-- > 0) *cursor++ = 0;
}

void vault_start_recording(void) { next_slot = 0x10000; }
