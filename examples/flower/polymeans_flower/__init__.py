"""A Flower app around polymeans: replace ``load_rows`` of the client by your own."""
