"""What a set of centroids is: how it is stored, refitted to statistics, and what it costs."""
