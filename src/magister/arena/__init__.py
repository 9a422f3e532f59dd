"""The arena: which model people prefer, on the instructions that tell models apart best."""
