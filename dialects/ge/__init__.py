"""The `ge` dialect: one file per operator family."""
