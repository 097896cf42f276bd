/* Lines of JSON for children in C, read without being decoded: strings go back as they came, still escaped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slice { const char *start; size_t size; };
struct buffer { char *bytes; size_t used, room; };

static void reserve(struct buffer *buffer, size_t more)
{
    if (buffer->room - buffer->used >= more) return;
    buffer->room = (buffer->used + more) * 2;
    buffer->bytes = realloc(buffer->bytes, buffer->room);
    if (!buffer->bytes) abort();
}

static void append(struct buffer *buffer, const char *bytes, size_t size)
{
    reserve(buffer, size);
    memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
}

#define APPEND(buffer, literal) append(buffer, literal, sizeof(literal) - 1)

static void flush(struct buffer *out)
{
    for (size_t done = 0; done < out->used;) {
        ssize_t n = write(STDOUT_FILENO, out->bytes + done, out->used - done);
        if (n > 0) done += (size_t)n;
        else if (errno != EINTR) exit(1);
    }
    out->used = 0;
}

/* Returns the first byte after the string whose opening quote is at `p`. */
static const char *after_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\') p++;
    return p < end ? p + 1 : end;
}

/* Returns the first byte after the value at `p`: at the comma or bracket that follows it. */
static const char *after_value(const char *p, const char *end)
{
    for (int depth = 0; p < end; p++) {
        if (*p == '"') p = after_string(p, end) - 1;
        else if (*p == '{' || *p == '[') depth++;
        else if ((*p == '}' || *p == ']') && depth-- == 0) return p;
        else if (*p == ',' && depth == 0) return p;
    }
    return end;
}

/* Finds a member of the object itself, not of what is nested in it; an absent one has size 0. */
static struct slice member(struct slice object, const char *name)
{
    const char *p = object.start, *end = p + object.size;
    size_t length = strlen(name);
    while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
        const char *key = p + 1;
        p = after_string(p, end);
        int found = (size_t)(p - 1 - key) == length && !memcmp(key, name, length);
        while (p < end && (*p == ':' || *p == ' ')) p++;
        const char *value = p;
        p = after_value(p, end);
        if (found) return (struct slice){value, (size_t)(p - value)};
    }
    return (struct slice){object.start, 0};
}

static int equals(struct slice value, const char *text)
{
    return value.size == strlen(text) && !memcmp(value.start, text, value.size);
}

/* Gives `answer` each line of stdin until it returns 0 or the input ends; then returns the exit status. All answers to
 * one read(2) leave in one write(2). */
static int serve(int (*answer)(struct slice line, struct buffer *out))
{
    struct buffer in = {0}, out = {0};
    for (int running = 1; running;) {
        reserve(&in, 65536);
        ssize_t n = read(STDIN_FILENO, in.bytes + in.used, in.room - in.used);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0;
        size_t line = 0, searched = in.used;
        in.used += (size_t)n;
        for (char *lf; running && (lf = memchr(in.bytes + searched, '\n', in.used - searched));) {
            size_t next = (size_t)(lf - in.bytes) + 1;
            running = answer((struct slice){in.bytes + line, next - 1 - line}, &out);
            line = searched = next;
        }
        memmove(in.bytes, in.bytes + line, in.used - line);
        in.used -= line;
        flush(&out);
    }
    return 0;
}
