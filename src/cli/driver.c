/* SPDX-License-Identifier: MIT
 *
 * heddle test-driver: heddle's tests of the family, and random kernels, on a Vulkan driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tester/tester.h"

/* One line on a terminal, again and again. */
static void show_progress(void *user, const TesterProgress *p)
{
    double *shown = user;
    if (!isatty(STDERR_FILENO) || (p->seconds - *shown < 0.1 && !p->reducing))
        return;
    *shown = p->seconds;
    fprintf(stderr, "\r\033[K%.0f s  %u kernels  %u findings  %s%.60s", p->seconds, p->kernels,
            p->findings, p->reducing ? "making small: " : "", p->kernel);
}

/* The device's number in "vulkan" or "vulkan:N". */
static bool parse_vulkan(const char *device, uint32_t *ordinal)
{
    const char *name = heddle_device_kind_name(HEDDLE_DEVICE_VULKAN);
    size_t n = strlen(name);
    char *end;
    *ordinal = 0;
    if (!device || !strcmp(device, name))
        return true;
    bool numbered = !strncmp(device, name, n) && device[n] == ':';
    unsigned long x = numbered ? strtoul(device + n + 1, &end, 10) : 0;
    if (numbered && device[n + 1] >= '0' && device[n + 1] <= '9' && !*end) {
        *ordinal = (uint32_t)x;
        return true;
    }
    complain("--device takes vulkan or vulkan:N here, not '%s'", device);
    return false;
}

static bool is_new(const TesterFinding *f) { return !f->known; }

static void print_json(const TesterReport *r, HeddleResult result, const HeddleLog *log)
{
    CliJson j = { 0 };
    json_open(&j, NULL, '{');
    json_text(&j, "device", r ? r->device : NULL);
    json_text(&j, "driver", r ? r->driver : NULL);
    json_open(&j, "kernels", '{');
    for (int v = 0; r && v < TESTER_N_VERDICTS; v++)
        json_count(&j, tester_verdict((TesterVerdict)v), r->count[v]);
    json_close(&j, '}');
    json_count(&j, "lowered", r ? r->lowered : 0);
    json_count(&j, "family", r ? r->n_listed : 0);
    json_count(&j, "first_seed", r ? r->first_seed : 0);
    json_count(&j, "seeds", r ? r->n_seeds : 0);
    json_real(&j, "seconds", r ? r->seconds : 0);
    json_open(&j, "findings", '[');
    for (uint32_t k = 0; r && k < r->n_findings; k++) {
        const TesterFinding *f = &r->findings[k];
        json_open(&j, NULL, '{');
        json_text(&j, "kernel", f->kernel);
        json_text(&j, "verdict", tester_verdict(f->verdict));
        json_text(&j, "what", f->what);
        json_text(&j, "judged", f->judged);
        json_text(&j, "known", f->known);
        json_text(&j, "folder", f->folder);
        json_count(&j, "instructions", f->instructions);
        json_count(&j, "times", f->times);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_end(&j, result, log);
}

int command_test_driver(const CliOptions *o)
{
    double shown = -1;
    uint32_t unknown = 0;
    size_t size;
    TesterOptions t = { .seconds = o->seconds,
                        .patience = o->patience,
                        .first_seed = o->seed,
                        .most = o->count,
                        .folder = o->output,
                        .progress = show_progress,
                        .user = &shown };
    char *known = o->known ? read_text(o->known, &size) : NULL;
    if (!parse_vulkan(o->device, &t.ordinal) || (o->known && !known)) {
        free(known);
        return EXIT_USAGE;
    }
    t.known = known;
    TesterReport *r = NULL;
    HeddleLog *log = open_log();
    HeddleResult result = log ? tester_run(&t, &r, log) : HEDDLE_ERROR_MEMORY;
    if (shown >= 0)
        fprintf(stderr, "\r\033[K");
    if (result && (!log || !heddle_log_errors(log)))
        complain("%s: %s", o->output ? o->output : "the driver", heddle_result_name(result));
    for (uint32_t k = 0; r && k < r->n_findings; k++)
        unknown += is_new(&r->findings[k]);
    if (!result && unknown)
        result = HEDDLE_ERROR_MISMATCH;
    if (o->json)
        print_json(r, result, log);
    else if (r)
        fputs(r->markdown, stdout);
    tester_free(r);
    heddle_log_free(log);
    free(known);
    return exit_status(result);
}
