#!/bin/sh
# Sends one prompt to `zot rpc` and prints the answer as it comes. Needs jq.
#
#     sh client.sh "what does this project do?" [FLAG...]
#
# The flags go to `zot rpc`. The end of stdin ends it after the prompt.

message=$1
shift
jq -cn --arg message "$message" '{id: "1", type: "prompt", message: $message}' |
  zot rpc --drain-timeout 1h "$@" |
  jq -j --unbuffered '
    if .type == "text_delta" then .delta
    elif .type == "result" and .status == "ok" then "\n"
    elif .type == "result" then "\n\(.status): \(.reason)\n"
    elif .type == "response" and (.success | not) then "\(.error)\n"
    else empty end'
