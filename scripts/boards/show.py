"""Print the boards at the end of a run."""

from magister.cli import app

if __name__ == "__main__":
    app(["board", "teaching"])
