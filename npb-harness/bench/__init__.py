"""The parts of `bench.py`: the compared libraries, the measurements, the table, and the plots."""
