"""Work on the processes of a Ray cluster: training, and the translation of large files. Needs the extra `ray`."""
