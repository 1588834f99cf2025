"""Bench `backtest`: recordings through the live pipeline, a lake of ten million lines, kills."""
