"""Results as a terminal shows them: pure functions from a result to something that rich prints."""
