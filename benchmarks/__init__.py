"""Benchmarks: ``python -m benchmarks NAME [--data DIR]`` measures us beside every peer."""
