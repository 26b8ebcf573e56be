/* A disk that fails: calls on files under a folder end with an error of the system.

   Loaded before everything else (LD_PRELOAD) and told by `disk_fails` what is to fail, where, from
   which call on, and with which error. `disk_failed` counts the failures, over forks too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ = 1, WRITE = 2, SYNC = 4, RENAME = 8, MAKE = 16, REMOVE = 32, OPEN = 64 };

static int kinds, error, lasting;
static long left;
static char folder[PATH_MAX];
static long *failed;

__attribute__((constructor)) static void prepare(void) {
    failed = mmap(NULL, sizeof *failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void disk_fails(const char *where, int which, long after, int code, int for_good) {
    snprintf(folder, sizeof folder, "%s/", where);
    left = after, error = code, lasting = for_good, *failed = 0, kinds = which;
}

long disk_failed(void) { return *failed; }

static int fails(int kind, const char *path) {
    if (!(kinds & kind) || strncmp(path, folder, strlen(folder))) return 0;
    if (__atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) > 0) return 0;
    if (*failed && !lasting) return 0;
    __atomic_fetch_add(failed, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return 1;
}

static int fails_at(int kind, int fd) {
    char name[64], path[PATH_MAX];
    if (!(kinds & kind)) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(kind, path);
}

static int fails_named(int kind, int fd, const char *given) {
    char name[64], path[2 * PATH_MAX];
    if (!(kinds & kind)) return 0;
    if (given[0] == '/') return fails(kind, given);
    snprintf(name, sizeof name, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    if (length < 0) return 0;
    snprintf(path + length, PATH_MAX, "/%s", given);
    return fails(kind, path);
}

#define PASS(type, name, failing, types, given)                     \
    type name types {                                               \
        static type(*real) types;                                   \
        if (!real) real = (type(*) types)dlsym(RTLD_NEXT, #name);   \
        return failing ? -1 : real given;                           \
    }

PASS(ssize_t, read, fails_at(READ, f), (int f, void *b, size_t n), (f, b, n))
PASS(ssize_t, pread, fails_at(READ, f), (int f, void *b, size_t n, off_t o), (f, b, n, o))
PASS(ssize_t, pread64, fails_at(READ, f), (int f, void *b, size_t n, off64_t o), (f, b, n, o))
PASS(ssize_t, readv, fails_at(READ, f), (int f, const struct iovec *v, int n), (f, v, n))
PASS(ssize_t, write, fails_at(WRITE, f), (int f, const void *b, size_t n), (f, b, n))
PASS(ssize_t, pwrite, fails_at(WRITE, f), (int f, const void *b, size_t n, off_t o), (f, b, n, o))
PASS(ssize_t, pwrite64, fails_at(WRITE, f), (int f, const void *b, size_t n, off64_t o),
     (f, b, n, o))
PASS(ssize_t, writev, fails_at(WRITE, f), (int f, const struct iovec *v, int n), (f, v, n))
PASS(int, ftruncate, fails_at(WRITE, f), (int f, off_t n), (f, n))
PASS(int, ftruncate64, fails_at(WRITE, f), (int f, off64_t n), (f, n))
PASS(ssize_t, copy_file_range, fails_at(READ, f) || fails_at(WRITE, t),
     (int f, off64_t *a, int t, off64_t *b, size_t n, unsigned g), (f, a, t, b, n, g))
PASS(ssize_t, sendfile, fails_at(READ, f) || fails_at(WRITE, t),
     (int t, int f, off_t *o, size_t n), (t, f, o, n))
PASS(ssize_t, sendfile64, fails_at(READ, f) || fails_at(WRITE, t),
     (int t, int f, off64_t *o, size_t n), (t, f, o, n))
PASS(int, fsync, fails_at(SYNC, f), (int f), (f))
PASS(int, fdatasync, fails_at(SYNC, f), (int f), (f))
PASS(int, rename, fails_named(RENAME, AT_FDCWD, t), (const char *s, const char *t), (s, t))
PASS(int, renameat, fails_named(RENAME, g, t), (int f, const char *s, int g, const char *t),
     (f, s, g, t))
PASS(int, renameat2, fails_named(RENAME, g, t),
     (int f, const char *s, int g, const char *t, unsigned o), (f, s, g, t, o))
PASS(int, link, fails_named(RENAME, AT_FDCWD, t), (const char *s, const char *t), (s, t))
PASS(int, linkat, fails_named(RENAME, g, t), (int f, const char *s, int g, const char *t, int o),
     (f, s, g, t, o))
PASS(int, mkdir, fails_named(MAKE, AT_FDCWD, p), (const char *p, mode_t m), (p, m))
PASS(int, mkdirat, fails_named(MAKE, f, p), (int f, const char *p, mode_t m), (f, p, m))
PASS(int, unlink, fails_named(REMOVE, AT_FDCWD, p), (const char *p), (p))
PASS(int, unlinkat, fails_named(REMOVE, f, p), (int f, const char *p, int o), (f, p, o))
PASS(int, rmdir, fails_named(REMOVE, AT_FDCWD, p), (const char *p), (p))

#define OPENING(name, at, types, given)                             \
    int name types {                                                \
        static int(*real) types;                                    \
        if (!real) real = (int (*) types)dlsym(RTLD_NEXT, #name);   \
        va_list more;                                               \
        va_start(more, flags);                                      \
        int makes = flags & O_CREAT;                                \
        mode_t mode = makes ? va_arg(more, mode_t) : 0;             \
        va_end(more);                                               \
        return fails_named(makes ? MAKE : OPEN, at, path) ? -1 : real given; \
    }

OPENING(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPENING(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPENING(openat, f, (int f, const char *path, int flags, ...), (f, path, flags, mode))
OPENING(openat64, f, (int f, const char *path, int flags, ...), (f, path, flags, mode))
