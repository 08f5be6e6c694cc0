/* SPDX-License-Identifier: MIT
 *
 * posix_spawn with a pipe. The pipe's ends close on exec, so that programs started by other threads
 * at the same time do not hold them open. The code around it handles the files. They are removed
 * even if memory runs out, so callbacks may allocate from the arena.
 */
#include "front/tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef HEDDLE_LIBEXEC
#define HEDDLE_LIBEXEC "/usr/local/libexec/heddle"
#endif

extern char **environ;

static const char own_address; /* something that lies in this library */

enum { MAX_OUTPUT = 256 << 10 };

static int spawn(const char *const *argv, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads to the end, keeping at most MAX_OUTPUT - 1 bytes and a NUL. */
static void drain(int fd, char *kept)
{
    char rest[4096];
    size_t used = 0;
    for (;;) {
        bool room = used < MAX_OUTPUT - 1;
        ssize_t n = read(fd, room ? kept + used : rest, room ? MAX_OUTPUT - 1 - used : sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += room ? (size_t)n : 0;
    }
    kept[used] = 0;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void process_run(Arena *arena, const char *const *argv, ProcessResult *out)
{
    *out = (ProcessResult){ .output = arena_alloc(arena, MAX_OUTPUT) };
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC)) {
        out->error = errno;
        return;
    }
    out->error = spawn(argv, ends[1], &pid);
    close(ends[1]);
    if (!out->error) {
        drain(ends[0], out->output);
        out->status = wait_for(pid);
    }
    close(ends[0]);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Takes the memory for all paths before anything exists that must be removed again. */
static void name_files(Tool *t, const char *input, const char *output)
{
    const char *base = getenv("TMPDIR");
    t->folder = arena_printf(t->arena, "%s/heddle-XXXXXX", base && *base ? base : "/tmp");
    t->input = arena_printf(t->arena, "%s/%s", t->folder, input);
    t->output = arena_printf(t->arena, "%s/%s", t->folder, output);
}

static ToolStatus io_error(Tool *t, const char *path)
{
    DiagLoc loc = { .file = path };
    diag(t->sink, DIAG_ERROR, &loc, NULL, "temporary file for %s: %s", t->program, strerror(errno));
    return TOOL_IO;
}

static ToolStatus make_files(Tool *t)
{
    if (!mkdtemp(t->folder))
        return io_error(t, t->folder);
    t->made = true;
    memcpy(t->input, t->folder, strlen(t->folder));
    memcpy(t->output, t->folder, strlen(t->folder));
    FILE *file = fopen(t->input, "we");
    if (!file)
        return io_error(t, t->input);
    bool ok = fwrite(t->source.data, 1, t->source.size, file) == t->source.size;
    int error = errno;
    if (fclose(file) && ok)
        return io_error(t, t->input);
    errno = error;
    return ok ? TOOL_OK : io_error(t, t->input);
}

/* With errno. */
static bool read_file(Tool *t)
{
    struct stat st;
    FILE *file = fopen(t->output, "re");
    if (!file)
        return false;
    if (fstat(fileno(file), &st)) {
        fclose(file);
        return false;
    }
    /* Not from the arena while the file is open, because running out of memory would leave it
     * open. */
    void *read = malloc((size_t)st.st_size + 1);
    size_t n = read ? fread(read, 1, (size_t)st.st_size, file) : 0;
    fclose(file);
    errno = !read ? ENOMEM : n != (size_t)st.st_size ? EIO : 0;
    jmp_buf here, *outer = t->arena->on_failure;
    if (errno || ARENA_GUARD(t->arena, here)) {
        errno = errno ? errno : ENOMEM;
        free(read);
        t->arena->on_failure = outer;
        return false;
    }
    t->bytes = arena_copy(t->arena, read, n);
    t->arena->on_failure = outer;
    t->n_bytes = n;
    free(read);
    return true;
}

static void remove_files(const Tool *t)
{
    if (!t->made)
        return;
    unlink(t->input);
    unlink(t->output);
    rmdir(t->folder);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The folder of the library, or of the program that heddle is linked into. NULL when unknown. */
static const char *own_folder(Arena *arena)
{
    Dl_info info;
    struct link_map *map;
    char path[PATH_MAX];
    if (!dladdr1(&own_address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return NULL;
    /* the program itself has no name there, and dladdr gives it argv[0] */
    if (!realpath(*map->l_name ? map->l_name : "/proc/self/exe", path))
        return NULL;
    return arena_strndup(arena, path, (size_t)(strrchr(path, '/') - path));
}

const char *tool_find(Arena *arena, const char *variable, const char *name)
{
    static const char *const places[] = { "/../libexec/heddle", "/../../libexec/heddle" };
    const char *named = getenv(variable);
    if (named && *named)
        return arena_strdup(arena, named);
    const char *folder = own_folder(arena);
    for (size_t i = 0; folder && i < COUNT_OF(places); i++) {
        char *path = arena_printf(arena, "%s%s/%s", folder, places[i], name);
        if (access(path, X_OK) == 0)
            return path;
    }
    char *path = arena_printf(arena, "%s/%s", HEDDLE_LIBEXEC, name);
    return access(path, X_OK) == 0 ? path : arena_strdup(arena, name);
}

static ToolStatus run_in_folder(Tool *t)
{
    enum { NOT_FOUND = 127, SIGNAL = 128 }; /* as shells and scripts report it */
    ToolStatus status = make_files(t);
    if (status)
        return status;
    ProcessResult r;
    process_run(t->arena, t->arguments(t), &r);
    if (r.error || r.status == NOT_FOUND) {
        diag(t->sink, DIAG_ERROR, NULL, NULL, "cannot run %s, which %s needs: %s (%s)", t->program,
             t->language, strerror(r.error ? r.error : ENOENT), t->advice);
        return TOOL_MISSING;
    }
    uint32_t errors = t->sink->errors;
    const char *rest = t->messages(t, r.output);
    if (r.status == 0)
        return read_file(t) ? TOOL_OK : io_error(t, t->output);
    DiagLoc loc = { .file = t->source.name };
    bool killed = r.status > SIGNAL;
    if (t->sink->errors == errors)
        diag(t->sink, DIAG_ERROR, &loc, t->language, "%s %s %d%s%.300s", t->program,
             killed ? "was ended by signal" : "ended with status",
             killed ? r.status - SIGNAL : r.status, *rest ? ": " : "", rest);
    return TOOL_WRONG_SOURCE;
}

ToolStatus tool_run(Tool *t, const char *input, const char *output)
{
    name_files(t, input, output);
    jmp_buf here, *outer = t->arena->on_failure;
    if (ARENA_GUARD(t->arena, here)) {
        remove_files(t);
        t->arena->on_failure = outer;
        if (outer)
            longjmp(*outer, 1);
        return TOOL_IO;
    }
    ToolStatus status = run_in_folder(t);
    t->arena->on_failure = outer;
    remove_files(t);
    return status;
}
