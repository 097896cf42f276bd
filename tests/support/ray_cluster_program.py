"""A Ray cluster on this machine, for tests: the process of `tests.support.ray_cluster`.

Reads lines: `add`, and `remove PID` or `kill PID` with the pid of a raylet. Answers each, and its start, with a line of
JSON: the address and the raylets. The end of its input ends the cluster.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from ray.cluster_utils import Cluster

ADDRESS = "127.0.0.2"
"""Ray takes 127.0.0.1 for the machine's address in the network, at which nothing listens then."""
NODE = {"num_cpus": 1, "object_store_memory": 78643200, "node_ip_address": ADDRESS}


def raylet(node: object) -> int:
    return node.all_processes["raylet"][0].process.pid


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    head = {**NODE, "include_dashboard": False}
    if len(sys.argv) > 2:
        head["ray_client_server_port"] = int(sys.argv[2])
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(int(sys.argv[1]) - 1):
        cluster.add_node(**NODE)
    nodes = {raylet(node): node for node in (cluster.head_node, *cluster.worker_nodes)}

    def answer() -> None:
        gcs = cluster.head_node.all_processes["gcs_server"][0].process.pid
        out.write(json.dumps({"address": cluster.address, "raylets": list(nodes), "gcs": gcs}) + "\n")
        out.flush()

    answer()
    for line in sys.stdin:
        what, *rest = line.split()
        if what == "add":
            node = cluster.add_node(**NODE)
            nodes[raylet(node)] = node
        elif what == "remove":
            cluster.remove_node(nodes.pop(int(rest[0])))
        elif what == "kill":
            node = nodes.pop(int(rest[0]))
            os.kill(int(rest[0]), signal.SIGKILL)
            cluster.remove_node(node, allow_graceful=False)
        answer()
    cluster.shutdown()


main()
