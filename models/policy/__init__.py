"""From a verdict and the history of its run to one decision. Pure: no clock, no I/O."""
