/* SPDX-License-Identifier: MIT
 *
 * Whole files in and out. Reading works on pipes too; writing goes to a new file in the same folder
 * that is renamed over the old one, so that a failure leaves the old one as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static void io_error(DiagSink *sink, const char *path, const char *what, int error)
{
    DiagLoc at = { .file = path };
    diag(sink, DIAG_ERROR, &at, NULL, "%s: %s", what, strerror(error));
}

/* Reads to the end of `f`. NULL with errno set on failure. */
static char *read_all(int fd, size_t *size)
{
    struct stat st;
    size_t capacity = 1 << 16, used = 0;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        capacity = (size_t)st.st_size + 1;
    }
    char *data = malloc(capacity + 1);
    while (data) {
        ssize_t n = read(fd, data + used, capacity - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        used += (size_t)n;
        if (n == 0) {
            data[used] = 0;
            *size = used;
            return data;
        }
        if (used < capacity)
            continue;
        char *more = capacity > SIZE_MAX / 2 - 1 ? NULL : realloc(data, 2 * capacity + 1);
        if (!more) {
            free(data);
            errno = ENOMEM;
            return NULL;
        }
        data = more;
        capacity *= 2;
    }
    int error = data ? errno : ENOMEM;
    free(data);
    errno = error;
    return NULL;
}

char *file_read(const char *path, size_t *size, DiagSink *sink)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        io_error(sink, path, "cannot open", errno);
        return NULL;
    }
    char *data = read_all(fd, size);
    if (!data)
        io_error(sink, standard ? "standard input" : path, "cannot read", errno);
    if (!standard)
        close(fd);
    return data;
}

static bool write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* Devices and pipes ("/dev/stdout") are written in place. */
static bool write_in_place(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* A new file beside `path`; its name, for free(), goes to *name. Negative with errno set on
 * failure. */
static int open_beside(const char *path, char **name)
{
    size_t room = strlen(path) + 40;
    *name = malloc(room);
    if (!*name) {
        errno = ENOMEM;
        return -1;
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(*name, room, "%s.%ld-%d.part", path, (long)getpid(), attempt);
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

bool file_write(const char *path, const void *a, size_t a_size, const void *b, size_t b_size,
                DiagSink *sink)
{
    char *part = NULL;
    int fd = write_in_place(path) ? open(path, O_WRONLY | O_CLOEXEC) : open_beside(path, &part);
    bool ok = fd >= 0 && write_all(fd, a, a_size) && write_all(fd, b, b_size);
    int error = errno;
    if (fd >= 0 && close(fd) && ok) {
        ok = false;
        error = errno;
    }
    if (ok && part && rename(part, path)) {
        ok = false;
        error = errno;
    }
    if (!ok)
        io_error(sink, path, "cannot write", error);
    if (!ok && part && fd >= 0)
        unlink(part);
    free(part);
    return ok;
}
