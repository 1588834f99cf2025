"""What failed on a cluster, and why: attempts of accounting or of a lake, judged as if live."""
