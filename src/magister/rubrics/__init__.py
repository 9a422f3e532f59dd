"""A scenario: who talks to whom, on which tasks, and how a judge scores the dialogue."""
