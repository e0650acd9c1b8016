"""The networks of the published 310P3 measurements as graphs, so that the chip model's time can stand beside them."""
