"""`relume doctor`: looks at everything that a service depends on, and changes nothing.

`docs/doctor.md` describes the checks.
"""
