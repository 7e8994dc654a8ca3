"""Work on the processes of a Ray cluster: training. Needs the extra `ray`."""
