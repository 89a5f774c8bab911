"""Helpers of the tests: generators of golden data and small fakes."""
