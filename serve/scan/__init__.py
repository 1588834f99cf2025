"""What failed on a cluster, and why: attempts of accounting or a lake, judged as live ones are."""
