"""Features whose products approximate a kernel, from centroids as landmarks."""

from polymeans.landmarks.nystroem import ClusterNystroem, HadamardNystroem, nystroem_error

__all__ = ["ClusterNystroem", "HadamardNystroem", "nystroem_error"]
