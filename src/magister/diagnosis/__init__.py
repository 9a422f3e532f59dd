"""Cognitive diagnosis: which attributes items need, and which of them models have mastered."""
