"""Automatic names: phrases of texts, likenesses of pictures, words of a vocabulary, and namers."""
