"""Compiled inner loops.

House rules: a kernel gets a range of rows (or clusters), reads its inputs, writes into buffers
its caller allocated, starts no threads and takes no decisions about algorithms. Everything is
``nogil``, so Python threads run kernels side by side.

Importing a kernel module imports numba; the engine does so when a fit begins, never earlier.
"""
