"""Lets `python -m dragoman` run the command line."""

from dragoman.cli.main import main

if __name__ == "__main__":
    main()
