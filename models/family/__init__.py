"""What earlier attempts of a job teach: pure."""
