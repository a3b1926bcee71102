// SPDX-License-Identifier: Apache-2.0
// A machine with faults, for event_codes_test.py: a library for LD_PRELOAD under `pawl serve --io
// threads --landlock off`. Each file in the directory FAKED_MACHINE is a fault while it exists:
//
//   stepped            the wall clock is 1000 s ahead
//   synchronised       adjtimex says so, otherwise it says that it is not
//   hidden-boot        the identity of the boot cannot be read
//   full               the disk has a hundredth of its space left, and none for a new file
//   copy-on-write      statfs names btrfs
//   slow               a durable write takes 250 ms more
//   torn               the next write of two blocks or more to a segment writes half, and the
//                      process ends
//   broken-NAME        writes to the file NAME fail with EIO
//   bad-place          the next write of zeros to a segment fails with EIO, and the fault ends
//   bad-place-again    the same: the server tries twice
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { block = 4096, slow_us = 250000, step_s = 1000 };

static int path_of(const char* fault, char* path) {
  const char* const machine = getenv("FAKED_MACHINE");
  return machine != NULL && snprintf(path, PATH_MAX, "%s/%s", machine, fault) < PATH_MAX;
}

static int has(const char* fault) {
  char path[PATH_MAX];
  return path_of(fault, path) && access(path, F_OK) == 0;
}

// Whether there was this fault; now it is over.
static int ends(const char* fault) {
  char path[PATH_MAX];
  return path_of(fault, path) && unlink(path) == 0;
}

static const char* name_of(int fd, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  path[n < 0 ? 0 : n] = 0;
  const char* const slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static int is_zero(const void* bytes, size_t size) {
  const char* const at = bytes;
  return size > 0 && at[0] == 0 && memcmp(at, at + 1, size - 1) == 0;
}

// The faults of a write; 0: it is whole.
static int fails(int fd, const void* bytes, size_t size, off_t at) {
  char path[PATH_MAX], fault[PATH_MAX + 16];
  const char* const name = name_of(fd, path);
  const int segment = strstr(name, ".seg") != NULL;
  if (segment && size >= 2 * block && !is_zero(bytes, size) && has("torn")) {
    const long half = (long)(size / 2 / block * block);
    if (syscall(SYS_pwrite64, fd, bytes, half, at) == half) _exit(9);
  }
  if (is_zero(bytes, size) && has("full")) {
    errno = ENOSPC;
    return 1;
  }
  snprintf(fault, sizeof fault, "broken-%s", name);
  if (!has(fault) &&
      !(segment && is_zero(bytes, size) && (ends("bad-place") || ends("bad-place-again"))))
    return 0;
  errno = EIO;
  return 1;
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  if (fails(fd, bytes, size, at)) return -1;
  return syscall(SYS_pwrite64, fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) {
  return pwrite(fd, bytes, size, at);
}

ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  if (count == 1 && fails(fd, parts->iov_base, parts->iov_len, at)) return -1;
  if (flags != 0 && has("slow")) usleep(slow_us);
  return syscall(SYS_pwritev2, fd, parts, (long)count, (long)at, 0L, (long)flags);
}
ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  return pwritev2(fd, parts, count, at, flags);
}

int fdatasync(int fd) {
  if (has("slow")) usleep(slow_us);
  return (int)syscall(SYS_fdatasync, fd);
}

int clock_gettime(clockid_t id, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, id, time);
  if (id == CLOCK_REALTIME && has("stepped")) time->tv_sec += step_s;
  return result;
}

int adjtimex(struct timex* state) {
  memset(state, 0, sizeof *state);
  state->status = has("synchronised") ? 0 : STA_UNSYNC;
  return has("synchronised") ? TIME_OK : TIME_ERROR;
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  if (has("full")) {
    errno = ENOSPC;
    return -1;
  }
  return (int)syscall(SYS_fallocate, fd, (long)mode, at, size);
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  return fallocate(fd, mode, at, size);
}

int fstatvfs(int fd, struct statvfs* about) {
  int (*const next)(int, struct statvfs*) =
      (int (*)(int, struct statvfs*))dlsym(RTLD_NEXT, "fstatvfs");
  const int result = next(fd, about);
  if (result == 0 && has("full")) about->f_bavail = about->f_bfree = about->f_blocks / 100;
  return result;
}
int fstatvfs64(int fd, struct statvfs64* about) { return fstatvfs(fd, (struct statvfs*)about); }

FILE* fopen(const char* path, const char* mode) {
  FILE* (*const next)(const char*, const char*) =
      (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen");
  if (strstr(path, "/boot_id") == NULL || !has("hidden-boot")) return next(path, mode);
  errno = EACCES;
  return NULL;
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int statfs(const char* path, struct statfs* about) {
  const int result = (int)syscall(SYS_statfs, path, about);
  if (result == 0 && has("copy-on-write")) about->f_type = 0x9123683e;
  return result;
}
int statfs64(const char* path, struct statfs64* about) {
  return statfs(path, (struct statfs*)about);
}
