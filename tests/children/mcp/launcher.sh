# Starts a server as npx does: sh waits for it, and dies alone of SIGTERM. argv: COMMAND ARGS of the server.
exec 3<&0 # the stdin of what sh starts in the background is empty otherwise
"$@" <&3 3<&- &
exec 3<&-
wait $!
