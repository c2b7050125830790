"""What `bench.py` is made of: the libraries that are compared, what is measured, the table, the plots."""
