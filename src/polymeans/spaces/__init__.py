"""In which coordinates rows are clustered: embeddings, kernels, and the way there for new rows."""
