"""From laid-out `ge` to kernels and task streams."""
