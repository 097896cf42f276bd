/* The floor: two processes that pass a question and an answer to and fro over two pipes, blocking, with no thought.
 *
 * argv: bytes of the question, bytes of the answer. Prints its pid and its child's; then reads lines "COUNT GAP_US" and
 * answers each with COUNT round trips in nanoseconds, as 32-bit integers. Leaves at end of file.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char buffer[65536];

static void echo(int in, int out, size_t answer)
{
    while (read(in, buffer, sizeof buffer) > 0)
        if (write(out, buffer, answer) < 0) break;
    _exit(0);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    size_t question = (size_t)atoi(argv[1]), answer = (size_t)atoi(argv[2]);
    int there[2], back[2];
    if (pipe(there) || pipe(back)) return 1;
    pid_t child = fork();
    if (!child) {
        close(there[1]);
        close(back[0]);
        echo(there[0], back[1], answer);
    }
    printf("%d %d\n", getpid(), child);
    fflush(stdout);
    int count, gap_us;
    while (scanf("%d %d", &count, &gap_us) == 2) {
        uint32_t *samples = calloc((size_t)count, sizeof *samples);
        struct timespec gap = {gap_us / 1000000, gap_us % 1000000 * 1000L};
        for (int i = 0; i < count; i++) {
            if (gap_us) nanosleep(&gap, NULL);
            int64_t start = now();
            if (write(there[1], buffer, question) < 0 || read(back[0], buffer, sizeof buffer) <= 0) return 1;
            samples[i] = (uint32_t)(now() - start);
        }
        fwrite(samples, sizeof *samples, (size_t)count, stdout);
        fflush(stdout);
        free(samples);
    }
    return 0;
}
