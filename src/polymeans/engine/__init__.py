"""The loop, written once: rows in, labels and statistics out, any codebook."""
