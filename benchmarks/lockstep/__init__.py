"""Two engines in lockstep: what they are given, and where they differ. For ``parity.py``, ``engine.py`` and tests."""
