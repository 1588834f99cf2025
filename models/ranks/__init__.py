"""Where the ranks of a job run: from rank to node, local rank, GPU and process, and back."""
