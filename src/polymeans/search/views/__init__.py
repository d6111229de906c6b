"""Several clusterings of the same rows: starts, kicks, and how many there are."""
