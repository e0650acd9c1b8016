"""General kernel builders: one file a family, none written for a model or a SoC."""
