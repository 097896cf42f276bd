/* The fastest well-behaved extension: tool `echo`, allows every tool call. argv: [name]. */
#include "json_lines.h"

/* Returns 0 when the extension is to exit. */
static int answer(struct slice frame, struct buffer *out)
{
    struct slice type = member(frame, "type");
    if (equals(type, "\"event_intercept\"")) {
        struct slice id = member(frame, "id");
        APPEND(out, "{\"type\":\"event_intercept_response\",\"id\":");
        append(out, id.start, id.size);
        APPEND(out, "}\n");
    } else if (equals(type, "\"tool_call\"")) {
        struct slice id = member(frame, "id"), text = member(member(frame, "args"), "text");
        APPEND(out, "{\"type\":\"tool_result\",\"id\":");
        append(out, id.start, id.size);
        APPEND(out, ",\"content\":[{\"type\":\"text\",\"text\":");
        if (text.size) append(out, text.start, text.size);
        else APPEND(out, "\"\"");
        APPEND(out, "}]}\n");
    } else if (equals(type, "\"shutdown\"")) {
        APPEND(out, "{\"type\":\"shutdown_ack\"}\n");
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct buffer out = {0};
    const char *name = argc > 1 ? argv[1] : "echo";
    APPEND(&out, "{\"type\":\"hello\",\"name\":\"");
    append(&out, name, strlen(name));
    APPEND(&out, "\",\"version\":\"1.0.0\"}\n"
                 "{\"type\":\"subscribe\",\"intercept\":[\"tool_call\"]}\n"
                 "{\"type\":\"register_tool\",\"name\":\"echo\",\"description\":\"Returns its text.\","
                 "\"schema\":{\"type\":\"object\"}}\n"
                 "{\"type\":\"ready\"}\n");
    flush(&out);
    return serve(answer);
}
