"""Nearest neighbors of rows by way of their clusters."""

from polymeans.landmarks.neighbors import ClusterNeighbors
from polymeans.landmarks.supervised_neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
)

__all__ = ["ClusterKNeighborsClassifier", "ClusterKNeighborsRegressor", "ClusterNeighbors"]
