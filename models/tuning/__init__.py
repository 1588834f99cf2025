"""Choice of settings by recorded jobs: how these are split, and what keeps a budget best."""
