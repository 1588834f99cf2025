"""Forms that nobody who writes rules has seen. WHO WRITES OR TUNES RULES MUST NOT READ THIS FOLDER.

Written on 30 November 2026, after the rules of that day and without a look at them: wordings of causes
and of victims, launchers, prefixes and system logs. Once somebody has read them to mend a verdict, they
measure nothing any more, and new ones have to be written.
"""
