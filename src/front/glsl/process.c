/* SPDX-License-Identifier: MIT
 *
 * posix_spawn with a pipe. The pipe's ends close on exec, so that programs started by other
 * threads at the same time do not hold them open.
 */
#include "front/glsl/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
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
