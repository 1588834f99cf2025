"""Online baselines of many series: what is usual, and when it stops being so."""
