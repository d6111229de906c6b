"""Compiled inner loops.

Conventions: a kernel gets a range of rows (or clusters), reads its inputs, writes into buffers that
its caller has allocated, starts no threads and does not choose algorithms. Arguments are marked IN,
OUT, INOUT and BUFFER; groups of arrays that several kernels share are named tuples, which cost
nothing in compiled code. Everything is ``nogil``, so Python threads run kernels side by side.

A literal number given to another kernel makes numba compile that kernel once more, for this number;
``np.int64(0)`` does not.

Importing a kernel module imports numba; the engine does so when a fit begins, never earlier.
"""
