"""Systems compared fairly: the same corpus, budget, seeds and search for all; `dragoman compare` is its command."""
