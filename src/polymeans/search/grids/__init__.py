"""Starts of Khatri-Rao fits: searched on a summary of the rows, then fitted to all of them."""
