"""From evidence to a verdict: episodes, ordering by causality, culprits, outlook. All pure."""
