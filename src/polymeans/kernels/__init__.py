"""Compiled inner loops.

Conventions: a kernel gets a range of rows (or clusters), reads its inputs, writes into buffers that
its caller has allocated, starts no threads and does not choose algorithms. Arguments are marked IN,
OUT, INOUT and BUFFER; groups of arrays that several kernels share are named tuples, which cost
nothing in compiled code. Everything is ``nogil``, so Python threads run kernels side by side.

Kernels count no references to arrays, which would take two atomic operations for each row that is
looked at; those that make arrays (``allocates=True``) do, and so do kernels that get such arrays
back from others. They make them outside of loops over rows, and leave these loops to other kernels.

A literal number given to another kernel makes numba compile that kernel once more, for this number;
``np.int64(0)`` does not.

Importing a kernel module imports numba; the engine does so when a fit begins, never earlier.
"""
