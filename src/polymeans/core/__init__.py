"""What every room of the library knows: contracts, frames, exact sums, threads.

Nothing here looks at a label or a centroid. Kernels are the only room below.
"""
