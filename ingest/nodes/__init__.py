"""What is said of nodes (sinfo, slurmctld's log, accounting), as `NodeEvent`s."""
