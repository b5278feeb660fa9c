// Loaded before a program (LD_PRELOAD), this stands before the system calls that change files. It counts those on
// files whose path holds VAULT_FAULT_IN, writes a line for each to VAULT_FAULT_LOG ("number call path"), and at the
// one with the number VAULT_FAULT_AT does what VAULT_FAULT_KIND says:
//
//   error   it fails with VAULT_FAULT_ERRNO (5, EIO, if that is not set)
//   errors  so does every later one, as on a disk that stays full
//   kill    the process dies before it
//   torn    half of a write is done, then the process dies
//   delay   it is done VAULT_FAULT_MILLISECONDS later
//   signal  the process gets the signal VAULT_FAULT_SIGNAL, and the call is done VAULT_FAULT_MILLISECONDS later
//   signals the same, twice: the second when the first was answered on standard error; the call is done 3 s later
//
// VAULT_FAULT_LACKS names calls that the file system does not know, of renameat2 and link: they always fail.
//
// VAULT_FREE_BYTES is the room that the disk of such files is said to have; "unknown" stands for a file system without sizes.
//
// VAULT_FAULT_CALLS bounds what is counted: names with commas between, such as rename,unlink; all if it is not set.
// The calls are made by number and not through the C library: nothing here comes back to itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int count;

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static int is_counted(const char *call, const char *path) {
  const char *part = getenv("VAULT_FAULT_IN");
  if (!part || !path || !strstr(path, part)) return 0;
  const char *calls = getenv("VAULT_FAULT_CALLS");
  if (!calls || !*calls) return 1;
  size_t length = strlen(call);
  for (const char *at = calls; (at = strstr(at, call)); at += length)
    if ((at == calls || at[-1] == ',') && (at[length] == ',' || !at[length])) return 1;
  return 0;
}

static void note(int index, const char *call, const char *path) {
  const char *log = getenv("VAULT_FAULT_LOG");
  if (!log) return;
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%d %s %s\n", index, call, path);
  long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, line, length);
  syscall(SYS_close, file);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) syscall(SYS_pause);
}

static void wait_shortly(void) {
  int milliseconds = number("VAULT_FAULT_MILLISECONDS", 100);
  struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  // A signal ends the sleep, and the rest of it is slept then.
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) continue;
}

/// How often the program has written on standard error.
static atomic_int said;

/// Waits for something to be said, at most so long. Gives whether something was.
static int wait_for_words(int before, int milliseconds) {
  struct timespec pause = {0, 2000000L};
  for (int waited = 0; waited < milliseconds && atomic_load(&said) == before; waited += 2)
    nanosleep(&pause, NULL);
  return atomic_load(&said) != before;
}

/// Sends two signals. Each is answered by another thread, which may not have its turn for long, so its answers are waited for:
/// that the program is stopping, and then that the process ends.
static void signal_twice(int number) {
  int before = atomic_load(&said);
  syscall(SYS_kill, getpid(), number);
  int is_stopping = wait_for_words(before, 1000);
  syscall(SYS_kill, getpid(), number);
  struct timespec pause = {is_stopping ? 3 : 0, 40000000L};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) continue;
}

/// Whether the file system is to be one without a call.
static int lacks(const char *call) {
  const char *names = getenv("VAULT_FAULT_LACKS");
  return names && strstr(names, call) != NULL;
}

enum { GOES_ON, FAILS, IS_TORN };

/// What becomes of a call.
static int fate(const char *call, const char *path) {
  int saved = errno;
  if (!is_counted(call, path)) return GOES_ON;
  int index = atomic_fetch_add(&count, 1) + 1, at = number("VAULT_FAULT_AT", 0);
  note(index, call, path);
  errno = saved;
  const char *kind = getenv("VAULT_FAULT_KIND");
  if (!kind || index < at || at == 0) return GOES_ON;
  if (strcmp(kind, "errors") == 0 || (index == at && strcmp(kind, "error") == 0)) {
    errno = number("VAULT_FAULT_ERRNO", EIO);
    return FAILS;
  }
  if (index > at) return GOES_ON;
  if (strcmp(kind, "kill") == 0) die();
  if (strcmp(kind, "torn") == 0) return IS_TORN;
  if (strcmp(kind, "signals") == 0) signal_twice(number("VAULT_FAULT_SIGNAL", SIGINT));
  if (strcmp(kind, "signal") == 0) {
    syscall(SYS_kill, getpid(), number("VAULT_FAULT_SIGNAL", SIGINT));
    wait_shortly();
  }
  if (strcmp(kind, "delay") == 0) wait_shortly();
  errno = saved;
  return GOES_ON;
}

/// The path behind a descriptor; empty for what has none.
static const char *path_of(int file, char path[PATH_MAX]) {
  char link[40];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
  errno = saved;
  return path;
}

/// Relative paths become whole ones, so that a part of the folder's name finds them.
static const char *whole(const char *path, char room[PATH_MAX]) {
  char folder[PATH_MAX];
  if (!path || *path == '/' || syscall(SYS_getcwd, folder, sizeof folder) <= 0) return path;
  snprintf(room, PATH_MAX, "%.2000s/%.2000s", folder, path);
  return room;
}

// MARK: By name

static int name_fails(const char *call, const char *path) {
  char room[PATH_MAX];
  int what = fate(call, whole(path, room));
  if (what == IS_TORN) die();
  return what == FAILS;
}

int rename(const char *from, const char *to) {
  return name_fails("rename", to) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int a, const char *from, int b, const char *to) {
  return name_fails("rename", to) ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, 0);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  if (flags && lacks("renameat2")) {
    errno = EINVAL;
    return -1;
  }
  return name_fails("rename", to) ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, flags);
}
int link(const char *from, const char *to) {
  if (lacks("link")) {
    errno = EPERM;
    return -1;
  }
  return name_fails("link", to) ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
  return name_fails("link", to) ? -1 : (int)syscall(SYS_linkat, a, from, b, to, flags);
}
int unlink(const char *path) {
  return name_fails("unlink", path) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int unlinkat(int folder, const char *path, int flags) {
  return name_fails("unlink", path) ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

static int opened(int folder, const char *path, int flags, va_list rest) {
  // O_TMPFILE holds the bit of O_DIRECTORY.
  int mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, int) : 0;
  if (name_fails("open", path)) return -1;
  return (int)syscall(SYS_openat, folder, path, flags | O_LARGEFILE, mode);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int file = opened(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return file;
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int file = opened(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return file;
}
int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int file = opened(folder, path, flags, rest);
  va_end(rest);
  return file;
}

// MARK: By descriptor

static int file_fails(const char *call, int file) {
  char path[PATH_MAX];
  int what = fate(call, path_of(file, path));
  if (what == IS_TORN) die();
  return what == FAILS;
}

int fsync(int file) { return file_fails("fsync", file) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return file_fails("fsync", file) ? -1 : (int)syscall(SYS_fdatasync, file); }
int flock(int file, int how) { return file_fails("flock", file) ? -1 : (int)syscall(SYS_flock, file, how); }
int ftruncate(int file, off_t size) {
  return file_fails("ftruncate", file) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}
int ftruncate64(int file, off64_t size) {
  return file_fails("ftruncate", file) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

ssize_t write(int file, const void *bytes, size_t size) {
  if (file == 2) atomic_fetch_add(&said, 1);
  char path[PATH_MAX];
  int what = fate("write", path_of(file, path));
  if (what == FAILS) return -1;
  if (what == IS_TORN) {
    syscall(SYS_write, file, bytes, size / 2);
    die();
  }
  return syscall(SYS_write, file, bytes, size);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  char path[PATH_MAX];
  int what = fate("write", path_of(file, path));
  if (what == FAILS) return -1;
  if (what == IS_TORN) {
    syscall(SYS_pwrite64, file, bytes, size / 2, offset);
    die();
  }
  return syscall(SYS_pwrite64, file, bytes, size, offset);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  return pwrite64(file, bytes, size, offset);
}

/// What the system says of the disk of a file, in the form of another call.
int statvfs(const char *path, struct statvfs *found) {
  struct statfs disk;
  if (syscall(SYS_statfs, path, &disk) != 0) return -1;
  memset(found, 0, sizeof *found);
  found->f_bsize = disk.f_bsize;
  found->f_frsize = disk.f_frsize ? disk.f_frsize : disk.f_bsize;
  found->f_blocks = disk.f_blocks;
  found->f_bfree = disk.f_bfree;
  found->f_bavail = disk.f_bavail;
  found->f_files = disk.f_files;
  found->f_ffree = found->f_favail = disk.f_ffree;
  found->f_namemax = disk.f_namelen;
  const char *part = getenv("VAULT_FAULT_IN"), *free = getenv("VAULT_FREE_BYTES");
  if (!part || !free || !strstr(path, part)) return 0;
  found->f_bfree = found->f_bavail = atoll(free) / found->f_frsize;
  // As ramfs has it, and many file systems in user space.
  if (!strcmp(free, "unknown")) found->f_blocks = 0;
  return 0;
}
int statvfs64(const char *path, struct statvfs64 *found) { return statvfs(path, (struct statvfs *)found); }
