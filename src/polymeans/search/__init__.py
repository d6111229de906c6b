"""How to escape poor optima: summaries of the data, starts, moves, and successive halving."""
