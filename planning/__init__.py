"""Pure mathematics without IR: index maps, interval packing."""
