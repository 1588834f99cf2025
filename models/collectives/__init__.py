"""What dumps of a hung job show: who did not come to which collective, and who waits for whom."""
