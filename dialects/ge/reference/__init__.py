"""numpy meaning of every `ge` operator; imports numpy only."""
