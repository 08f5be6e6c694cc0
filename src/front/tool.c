/* SPDX-License-Identifier: MIT
 *
 * posix_spawn with a pipe. The pipe's ends close on exec, so that programs started by other
 * threads at the same time do not hold them open.
 */
#include "front/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

void tool_name_files(Arena *arena, ToolFiles *f, const char *input, const char *output)
{
    const char *base = getenv("TMPDIR");
    f->folder = arena_printf(arena, "%s/heddle-XXXXXX", base && *base ? base : "/tmp");
    size_t n = strlen(f->folder) + MAX(strlen(input), strlen(output)) + 2;
    f->input = strcpy(arena_alloc(arena, n), input);
    f->output = strcpy(arena_alloc(arena, n), output);
}

/* Puts the folder before a name: both are known only now. */
static void in_folder(const ToolFiles *f, char *name)
{
    size_t n = strlen(f->folder);
    memmove(name + n + 1, name, strlen(name) + 1);
    memcpy(name, f->folder, n);
    name[n] = '/';
}

bool tool_make_files(ToolFiles *f, const void *bytes, size_t size, const char **about)
{
    *about = f->folder;
    if (!mkdtemp(f->folder))
        return false;
    f->made = true;
    in_folder(f, f->input);
    in_folder(f, f->output);
    *about = f->input;
    FILE *file = fopen(f->input, "we");
    if (!file)
        return false;
    bool ok = fwrite(bytes, 1, size, file) == size;
    int error = errno;
    if (fclose(file) && ok)
        return false;
    errno = error;
    return ok;
}

bool tool_read_output(Arena *arena, const ToolFiles *f, void **bytes, size_t *size)
{
    struct stat st;
    FILE *file = fopen(f->output, "re");
    if (!file)
        return false;
    if (fstat(fileno(file), &st)) {
        fclose(file);
        return false;
    }
    /* Not from the arena while the file is open: running out of memory would leave it so. */
    void *read = malloc((size_t)st.st_size + 1);
    size_t n = read ? fread(read, 1, (size_t)st.st_size, file) : 0;
    fclose(file);
    errno = !read ? ENOMEM : n != (size_t)st.st_size ? EIO : 0;
    jmp_buf here, *outer = arena->on_failure;
    if (errno || ARENA_GUARD(arena, here)) {
        errno = errno ? errno : ENOMEM;
        free(read);
        arena->on_failure = outer;
        return false;
    }
    *bytes = arena_copy(arena, read, n);
    arena->on_failure = outer;
    *size = n;
    free(read);
    return true;
}

void tool_remove_files(const ToolFiles *f)
{
    if (!f->made)
        return;
    unlink(f->input);
    unlink(f->output);
    rmdir(f->folder);
}
