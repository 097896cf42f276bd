# A sound legacy server for the shell: tool `echo`, whose text goes back as it came, still escaped. argv: [name].
# Expects messages with `id` and `method` before `params`, and no spaces between.
LC_ALL=C
schema='{"type":"object","properties":{"text":{"type":"string"}}}'

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }

while IFS= read -r line; do
  id= method=
  head=${line%%'"params"'*}
  case $head in *'"id":'*) id=${head#*'"id":'}; id=${id%%[,\}]*} ;; esac
  case $head in *'"method":"'*) method=${head#*'"method":"'}; method=${method%%'"'*} ;; esac
  case $method in
    initialize)
      version=${line#*'"protocolVersion":"'}
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s",' "$id" "${version%%'"'*}"
      printf '"capabilities":{"tools":{}},"serverInfo":{"name":"%s","version":"1"}}}\n' "${1:-reference-sh}" ;;
    tools/list)
      answer '{"tools":[{"name":"echo","description":"Returns its text.","inputSchema":'"$schema"'}]}' ;;
    tools/call)
      text=$(printf '%s\n' "$line" | sed -nE 's/.*"arguments": *\{ *"text": *"(([^"\\]|\\.)*)".*/\1/p')
      answer '{"content":[{"type":"text","text":"'"$text"'"}]}' ;;
    ping) answer '{}' ;;
    notifications/*) ;;
    *) [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"%s"}}\n' "$id" unknown ;;
  esac
done
