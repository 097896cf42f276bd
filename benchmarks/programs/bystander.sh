# An extension that is there and guards nothing. argv: [name].
printf '{"type":"hello","name":"%s"}\n{"type":"ready"}\n' "${1:-bystander}"
while IFS= read -r line; do
  case $line in
    '{"type":"shutdown"}')
      echo '{"type":"shutdown_ack"}'
      exit 0 ;;
  esac
done
