"""Results as terminals show them: pure functions from a result to something that rich prints."""
