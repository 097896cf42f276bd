# A leased extension for /bin/sh: tool `who` returns the pid and the session of the lease. argv: FILE, to which it writes
# the leases.
LC_ALL=C
echo '{"type":"hello","name":"leased","features":["leases"]}'
echo '{"type":"register_tool","name":"who","description":"","schema":{"type":"object"}}'
echo '{"type":"ready"}'
session=none
while IFS= read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  case $line in
    '{"type":"lease_begin",'*)
      session=${line#*'"session_id":"'}
      session=${session%%'"'*}
      echo "$$ begin $session" >>"$1"
      printf '{"type":"lease_ready","id":"%s"}\n' "$id" ;;
    '{"type":"lease_end",'*)
      echo "$$ end $session" >>"$1"
      session=none ;;
    '{"type":"tool_call",'*)
      printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"%s %s"}]}\n' "$id" "$$" "$session" ;;
    '{"type":"shutdown"}')
      echo '{"type":"shutdown_ack"}'
      exit 0 ;;
  esac
done
