#!/bin/sh
# Sends one prompt to `zot rpc` and prints the answer as it comes. Needs jq.
#
#     sh client.sh "what does this project do?" [FLAG...]
#
# The flags go to `zot rpc`. The end of stdin ends it after the prompt, and Ctrl-C at once. A token in
# ZOTCORE_RPC_TOKEN is said first. The exit status is that of the prompt.

message=${1?usage: sh client.sh PROMPT [FLAG...]}
shift
jq -cn --arg message "$message" '
  {id: 1, type: "hello", token: env.ZOTCORE_RPC_TOKEN},
  {id: 2, type: "prompt", message: $message}' |
  zot rpc --drain-timeout 1h "$@" |
  jq -nj --unbuffered '
    foreach (inputs, null) as $line (
      {};
      if $line.type == "response" and ($line.success | not) then {refused: $line.error}
      elif $line.type == "result" then {exit_code: $line.exit_code}
      elif $line.type == "done" then .done = true
      else . end;
      if $line == null then
        if .refused then "\(.refused)\n" | halt_error(1)
        elif .done | not then "zot rpc has ended\n" | halt_error(1)
        elif .exit_code != 0 then .exit_code as $code | "" | halt_error($code)
        else empty end
      elif $line.type == "text_delta" then $line.delta
      elif $line.type == "result" and $line.status == "ok" then "\n"
      elif $line.type == "result" then "\n\($line.status): \($line.reason)\n"
      else empty end
    )'
