/* After hello and ready, floods notify frames in writes of 64 KiB until EOF; shutdown is ignored. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { FRAME = 128, FLOOD = 64 * 1024 };

int main(void)
{
    static const char hello[] = "{\"type\":\"hello\",\"name\":\"flood_notify\"}\n{\"type\":\"ready\"}\n";
    static const char head[] = "{\"type\":\"notify\",\"level\":\"info\",\"message\":\"", tail[] = "\"}\n";
    static char flood[FLOOD], received[4096];
    memset(flood, 'f', sizeof flood);
    for (char *frame = flood; frame < flood + FLOOD; frame += FRAME) {
        memcpy(frame, head, sizeof head - 1);
        memcpy(frame + FRAME - (sizeof tail - 1), tail, sizeof tail - 1);
    }
    if (write(STDOUT_FILENO, hello, sizeof hello - 1) < 0) return 1;
    fcntl(STDOUT_FILENO, F_SETFL, O_WRONLY | O_NONBLOCK); /* a blocked write would not see EOF */
    struct pollfd pipes[] = {{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, POLLOUT, 0}};
    for (size_t position = 0; poll(pipes, 2, -1) > 0;) {
        if (pipes[0].revents && read(STDIN_FILENO, received, sizeof received) <= 0) return 0;
        if (!pipes[1].revents) continue;
        ssize_t n = write(STDOUT_FILENO, flood + position, FLOOD - position);
        if (n > 0) position = (position + (size_t)n) % FLOOD;
    }
    return 1;
}
