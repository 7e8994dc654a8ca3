"""Settings that all tests share: examples that hypothesis finds are the same in every run, on slow machines too."""

from hypothesis import settings

settings.register_profile("dragoman", deadline=None, derandomize=True, database=None)
settings.load_profile("dragoman")
