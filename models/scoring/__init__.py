"""How good detection is: matching, intervals, latency and attribution of metrics 1-6 and 14."""
