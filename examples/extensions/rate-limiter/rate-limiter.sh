#!/bin/sh
# rate-limiter.sh TURNS SECONDS: refuses a turn if the last SECONDS seconds had TURNS turns.
#
# Each turn is a line with its time in seconds, in the file `turns` in the data folder, which all sessions share. Two
# sessions that ask at the same moment may both pass; a limiter of requests to a model can accept that.
limit=${1:-12} window=${2:-60}

if ! command -v jq >/dev/null; then
  echo 'rate-limiter needs jq: https://jqlang.org' >&2
  exit 125 # tells the host not to start it again
fi

# answer ID [REASON]: lets the turn pass, or refuses it. ID is JSON; a reason needs no escapes.
answer() {
  printf '{"type":"event_intercept_response","id":%s%s}\n' "$1" "${2:+,\"block\":true,\"reason\":\"$2\"}"
}

# judge ID
judge() {
  if [ ! -d "$data" ]; then # this host has named no data folder
    answer "$1"
    return
  fi
  now=$(date +%s)
  recent=$(awk -v since=$((now - window)) '$1 > since' "$data/turns" 2>/dev/null)
  count=$(printf '%s' "$recent" | grep -c .)
  if [ "$count" -ge "$limit" ]; then
    oldest=$(printf '%s\n' "$recent" | tail -n "$limit" | head -n 1)
    answer "$1" "rate-limiter: $count turns in the last $window s; go on in $((oldest + window - now)) s"
    return
  fi
  answer "$1"
  # Drops turns that are older than the window. A rename: a reader sees the old file or the new one.
  { [ -z "$recent" ] || printf '%s\n' "$recent"; echo "$now"; } >"$data/turns.$$" &&
    mv -f "$data/turns.$$" "$data/turns" && return
  rm -f "$data/turns.$$"
  echo "cannot count turns in $data" >&2
}

echo '{"type":"hello","name":"rate-limiter","version":"1.0.0","capabilities":["events"]}'
echo '{"type":"subscribe","intercept":["turn_start"]}'
echo '{"type":"ready"}'

data=
while IFS= read -r line; do
  # The type, and on the next line the member that this type needs. jq prints nothing for an empty line.
  fields=$(printf '%s\n' "$line" | jq -r '
    (.type | tostring),
    if .type == "hello_ack" then .data_dir else empty end,
    if .type == "event_intercept" then .id | tojson else empty end' 2>/dev/null) ||
    { echo 'ignored a line that is not a frame' >&2; continue; }
  value=${fields#*
}
  case ${fields%%
*} in
    hello_ack) data=$value ;;
    event_intercept) judge "$value" ;;
    shutdown) echo '{"type":"shutdown_ack"}'; exit 0 ;;
  esac
done
