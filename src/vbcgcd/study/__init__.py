"""Experiments: session plans, scoring and the runner."""
