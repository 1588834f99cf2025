"""Alerts out: one message per incident to Alertmanager, to webhooks and to Slack, and a heartbeat.

Each target has a thread of its own that looks at the ledger, so nothing here can slow the runner.
`docs/alerts.md` describes what is sent.
"""
