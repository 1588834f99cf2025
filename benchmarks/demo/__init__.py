"""The demo corpus, which the project writes itself: logs with known truth, scores, a report."""
