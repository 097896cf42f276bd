"""The carrier for Ray clusters: `ray_main`, a child of the driver on two pipes, alone imports it."""
