#!/bin/sh
# Two slash commands in one jq program: it reads a frame as a line, and writes the answer as a line.

if ! command -v jq >/dev/null; then
  echo 'hello needs jq: https://jqlang.org' >&2
  exit 125 # tells the host not to start it again
fi

exec jq -nRc --unbuffered '
  def who: (.args // "") | gsub("^\\s+|\\s+$"; "") | if . == "" then "world" else . end;

  {type: "hello", name: "hello", version: "1.0.0", capabilities: ["commands"]},
  {type: "register_command", name: "hello", description: "Have the model greet somebody: /hello Ada"},
  {type: "register_command", name: "hi", description: "Greet somebody without the model: /hi Ada"},
  {type: "ready"},

  (inputs
    | try fromjson catch ("ignored a line that is not JSON" | debug | empty)
    | objects
    | if .type == "command_invoked" and .name == "hello" then
        {type: "command_response", id, action: "prompt", prompt: "Greet \(who) in one cheerful sentence."}
      elif .type == "command_invoked" and .name == "hi" then
        {type: "command_response", id, action: "display", display: "Hello, \(who)!"},
        {type: "notify", level: "success", message: "greeted \(who)"}
      elif .type == "command_invoked" then
        {type: "command_response", id, error: "hello has no command /\(.name)"}
      elif .type == "shutdown" then
        {type: "shutdown_ack"}, halt
      else
        empty
      end)'
