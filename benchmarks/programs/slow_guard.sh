# A guard that runs a program for each verdict, as guards in sh do. argv: [name].
LC_ALL=C
printf '{"type":"hello","name":"%s"}\n{"type":"subscribe","intercept":["tool_call"]}\n{"type":"ready"}\n' "${1:-guard}"
while IFS= read -r line; do
  id=${line#*'"id":"'}
  id=${id%%'"'*}
  case $line in
    '{"type":"event_intercept",'*)
      sleep 0.002
      printf '{"type":"event_intercept_response","id":"%s"}\n' "$id" ;;
    '{"type":"shutdown"}')
      echo '{"type":"shutdown_ack"}'
      exit 0 ;;
  esac
done
