"""Fair comparison of systems: the same corpus, budget, seeds and search for all; the command is `dragoman compare`."""
