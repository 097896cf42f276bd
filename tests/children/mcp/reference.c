/* The fastest sound MCP server of the legacy era: tool `echo`. argv: [name]. */
#include "../json_lines.h"

static const char *name = "reference-c";

static void begin(struct buffer *out, struct slice id)
{
    APPEND(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    append(out, id.start, id.size);
}

static int answer(struct slice line, struct buffer *out)
{
    struct slice id = member(line, "id"), method = member(line, "method"), params = member(line, "params");
    if (!id.size || !method.size) return 1;
    begin(out, id);
    if (equals(method, "\"tools/call\"")) {
        struct slice text = member(member(params, "arguments"), "text");
        APPEND(out, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
        if (text.size) append(out, text.start, text.size);
        else APPEND(out, "\"\"");
        APPEND(out, "}]}}\n");
    } else if (equals(method, "\"initialize\"")) {
        struct slice version = member(params, "protocolVersion");
        APPEND(out, ",\"result\":{\"protocolVersion\":");
        append(out, version.start, version.size);
        APPEND(out, ",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"version\":\"1\",\"name\":\"");
        append(out, name, strlen(name));
        APPEND(out, "\"}}}\n");
    } else if (equals(method, "\"tools/list\"")) {
        APPEND(out, ",\"result\":{\"tools\":[{\"name\":\"echo\",\"description\":\"Returns its text.\","
                    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}]}}\n");
    } else if (equals(method, "\"ping\"")) {
        APPEND(out, ",\"result\":{}}\n");
    } else {
        APPEND(out, ",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n");
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1) name = argv[1];
    return serve(answer);
}
