"""Nearest neighbours of rows by way of their clusters."""

from polymeans.landmarks.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)

__all__ = ["ClusterKNeighborsClassifier", "ClusterKNeighborsRegressor", "ClusterNeighbors"]
