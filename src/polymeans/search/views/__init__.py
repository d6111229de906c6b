"""Several clusterings of the same rows: starts, perturbations, and how many views there are."""
