"""The node program: the processes of the runs on one machine of a cluster, for a driver on another one."""
