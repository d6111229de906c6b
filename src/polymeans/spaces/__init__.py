"""In which coordinates rows are clustered: embeddings, kernels, and their maps for new rows."""
