"""Property tests here have no deadline: on a busy machine a slow example is no failure."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
