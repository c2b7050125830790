"""The figures and tables of the papers that ftmpi comes from: one module for each paper."""
