"""Sets of centroids: how they are stored, refitted to statistics, and their inertia."""
