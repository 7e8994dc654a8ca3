"""Work on the processes of a Ray cluster: encoding a corpus, training, bulk translation. Needs the extra `ray`."""
