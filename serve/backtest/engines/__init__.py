"""Where units are replayed: in this process, in several of this machine, or by Dask."""
