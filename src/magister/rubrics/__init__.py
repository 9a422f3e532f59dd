"""Scenario rubrics: dialogues, judges that score them, and the evolution of what they score."""
