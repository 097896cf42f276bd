# A well-behaved extension for /bin/sh: tool `echo`, allows every tool call. argv: [name].
# Expects frames as a host writes them: type first, then id, no spaces between. The text goes back as it came,
# still escaped for JSON.
LC_ALL=C
printf '{"type":"hello","name":"%s","version":"1.0.0"}\n' "${1:-echo}"
echo '{"type":"subscribe","intercept":["tool_call"]}'
echo '{"type":"register_tool","name":"echo","description":"Returns its text.","schema":{"type":"object"}}'
echo '{"type":"ready"}'
while IFS= read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  case $line in
    '{"type":"event_intercept",'*)
      printf '{"type":"event_intercept_response","id":"%s"}\n' "$id" ;;
    '{"type":"tool_call",'*)
      text=$(printf '%s\n' "$line" | sed -nE 's/.*"args": *\{ *"text": *"(([^"\\]|\\.)*)".*/\1/p')
      printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"%s"}]}\n' "$id" "$text" ;;
    '{"type":"shutdown"}')
      echo '{"type":"shutdown_ack"}'
      exit 0 ;;
  esac
done
