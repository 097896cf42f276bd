"""A host as a service: what a service manager is told of it, and the files that make one start it.

`service_link` follows a host and tells the manager by `notify_socket`, in systemd's protocol (sd_notify).
`systemd_unit` and `launchd_plist` are pure: they make the text of a unit or a property list from a `Service`.
"""
