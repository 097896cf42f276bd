#!/bin/sh
# Tool `todo_count`: counts the lines of a file in the project with TODO or FIXME. Needs only a POSIX shell.
#
# It has no JSON parser, so it takes no risks: it only looks for string members, never decodes an escape, and refuses
# a path with an escape.
LC_ALL=C
export LC_ALL
unset CDPATH

# member NAME JSON: prints the string of the member, with its escapes; nothing if there is none.
# The quote before NAME must follow `{`, `,` or a space: text inside a string cannot look like that, because its quotes
# are escaped.
member() {
  printf '%s\n' "$2" | sed -nE 's/.*[{,[:space:]]"'"$1"'"[[:space:]]*:[[:space:]]*"(([^"\\]|\\.)*)".*/\1/p'
}

# result TEXT [is_error]: answers the call $id. Escapes quotes and backslashes, and removes control characters.
result() {
  text=$(printf '%s' "$1" | tr '\001-\037' ' ' | sed 's/["\\]/\\&/g')
  printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"%s"}],"is_error":%s}\n' \
    "$id" "$text" "${2:-false}"
}

# count PATH: answers with the number of lines, if PATH is a plain file below the project's directory.
count() {
  case $1 in
    '') result 'todo_count needs "path", a string' true; return ;;
    *\\*) result 'todo_count cannot read a path with a backslash, a quote or an escape in it' true; return ;;
    /*) path=$1 ;;
    *) path=$project/$1 ;;
  esac
  root=$(cd -- "$project" 2>/dev/null && pwd -P) || root=
  folder=$(cd -- "${path%/*}/" 2>/dev/null && pwd -P) || folder=
  file=${folder%/}/${path##*/}
  case $root:$folder/ in
    /*:"${root%/}"/*) ;;
    *) result "$1 is not in the project, or its folder does not exist" true; return ;;
  esac
  if [ -L "$file" ] || [ ! -f "$file" ] || [ ! -r "$file" ]; then
    result "$1 is not a file that can be read" true
    return
  fi
  lines=$(grep -cE '(^|[^[:alnum:]_])(TODO|FIXME)([^[:alnum:]_]|$)' "$file")
  result "lines with TODO or FIXME in $1: $lines"
}

echo '{"type":"hello","name":"todo-count","version":"1.0.0","capabilities":["tools"]}'
echo '{"type":"register_tool","name":"todo_count","description":"Count the TODO and FIXME lines of a file in the project.","schema":{"type":"object","properties":{"path":{"type":"string","description":"Relative to the project."}},"required":["path"]}}'
echo '{"type":"ready"}'

project=
while IFS= read -r line; do
  head=${line%%'"args"'*} # the model's text comes after this, so it cannot pose as a type or an id
  case $line in
    '{'*'}') type=$(member type "$head") ;;
    *) echo 'ignored a line that is not a frame' >&2; continue ;;
  esac
  case $type in
    hello_ack) project=$(member cwd "$line") ;;
    tool_call)
      id=$(member id "$head")
      count "$(member path "${line#"$head"}")" ;;
    shutdown) echo '{"type":"shutdown_ack"}'; exit 0 ;;
  esac
done
