# `errands` as in errands.py, for /bin/sh. It works with what a shared folder needs, too: the mark of a group on folders,
# and a repository of git that a group shares. With "sandbox":true it starts a process that has a /proc of its own.
# argv: NAME. Expects frames as a host writes them.
LC_ALL=C
value() { rest=${line#*"\"$1\":\""}; printf %s "${rest%%'"'*}"; }

errands() {
  echo kept > "$data/kept" && echo data || return
  mkdir -p "$project/of-sh" && chmod 2775 "$project/of-sh" && cp -a "$project/of-sh" "$data" || return
  if command -v git > /dev/null; then
    git init -q --shared=group "$project/of-sh" && (cd "$project/of-sh" && : > file && git add file) || return
  fi
  echo project
  file=$(mktemp) && echo kept > "$file" && rm "$file" && echo temporary || return
  sleep 0 & wait $! && echo child || return
  bash -c 'echo sh > /dev/tcp/127.0.0.1/$0' "$port" && echo loopback || return
  case $line in *'"sandbox":true'*) unshare -rpf --mount-proc true && echo sandbox ;; esac
}

printf '{"type":"hello","name":"%s","version":"1.0.0"}\n' "$1"
printf '{"type":"register_tool","name":"%s_errands","description":"","schema":{"type":"object"}}\n' "$1"
echo '{"type":"ready"}'
while IFS= read -r line; do
  case $line in
    '{"type":"hello_ack",'*) project=$(value cwd) data=$(value data_dir) ;;
    '{"type":"tool_call",'*)
      id=$(value id) port=${line#*'"port":'} port=${port%%[,\}]*}
      said=$(errands 2>&1 < /dev/null | tr '\n\t"\\' '    ')
      printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"%s"}]}\n' "$id" "${said% }" ;;
    '{"type":"shutdown"}') echo '{"type":"shutdown_ack"}'; exit 0 ;;
  esac
done
