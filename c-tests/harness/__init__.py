"""The test runner behind `c-tests/run.py`; standard library only."""
