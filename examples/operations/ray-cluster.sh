#!/bin/sh
# A Ray cluster by hand, for `zot batch --engine ray`: one head, and as many workers as there are machines.
#
#   sh ray-cluster.sh head 10.0.0.1            # on the first machine, whose address in your network this is
#   sh ray-cluster.sh worker 10.0.0.1          # on each other one, with ~/.ray/auth_token of the first copied to it
#   RAY_AUTH_MODE=token zot batch tasks.jsonl -o runs --engine ray --address 10.0.0.1:6379 --upload .   # on the first
#
# Each machine has the same Python, the same `pip install "pyzot[ray]"`, and the key of the model in its own environment
# when this script starts: keys do not travel. The script stays in the foreground, and Ctrl-C or SIGTERM ends the
# machine's part of the cluster; `ray stop` would end all clusters of the machine. Machines of a cluster trust each
# other like yourself, and Ray listens on many ports: keep them in a network of your own. Without the token any process
# that reaches a port could run commands as you.
#
# Tried: head and worker of Ray 2.60 on one machine, by hand: a client with the token sees two nodes, one without it is
# refused, SIGTERM leaves nothing; the words by a test with a stand-in for `ray`; shellcheck 0.11. Not tried: two machines.
set -eu
umask 077 # Ray would let others of the machine read the token
usage="usage: ray-cluster.sh head|worker ADDRESS-OF-THE-HEAD"
role=${1:?$usage}
address=${2:?$usage}
port=${RAY_PORT:-6379}
export RAY_AUTH_MODE=token
token=${RAY_AUTH_TOKEN_PATH:-$HOME/.ray/auth_token}

case $role in
head)
    [ -s "$token" ] || ray get-auth-token --generate >/dev/null
    exec ray start --head --node-ip-address="$address" --port="$port" \
        --include-dashboard=false --disable-usage-stats --block
    ;;
worker)
    [ -s "$token" ] || { echo "no token in $token: copy that of the head, with mode 600" >&2 && exit 2; }
    exec ray start --address="$address:$port" --disable-usage-stats --block
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
