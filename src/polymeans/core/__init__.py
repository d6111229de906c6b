"""What all rooms of the library use: contracts, frames, exact sums, threads.

Nothing here looks at a label or a centroid. Kernels are the only room below.
"""
