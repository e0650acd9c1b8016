"""The `ascend` dialect: kernels and task streams."""
