"""The command line: results on standard output, progress and logs on standard error, exit code 2 for a user's mistake."""
